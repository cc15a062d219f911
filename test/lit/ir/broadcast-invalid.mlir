// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: tensor<4xf32>, %b: tensor<4xi32>) {
  // expected-error@+2 {{broadcast_c1: operands must have one element type, found f32[4] and i32[4]; convert one with a cast}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.add %a, %b : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error@+2 {{broadcast_c2: shapes of f32[2, 3] and f32[2] do not broadcast: 3 meets 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.mul %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Named dims agree by name only.
func.func @f(%a: tensor<?xf32, #nn.enc<[N]>>, %b: tensor<?xf32, #nn.enc<[M]>>) {
  // expected-error@+2 {{broadcast_c2: shapes of f32[N] and f32[M] do not broadcast: N meets M}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.less %a, %b : (tensor<?xf32, #nn.enc<[N]>>, tensor<?xf32, #nn.enc<[M]>>) -> tensor<?xi1, #nn.enc<[N]>>
  return
}

// -----

// The result type that is written must be the inferred one.
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<2x4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}
