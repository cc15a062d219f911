// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xi32>) {
  // expected-error@+2 {{concat_c1: operands must have one element type and rank, found f32[2, 3] and i32[2, 3]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.concat %a, %b {axis = 0} : (tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+2 {{concat_c1: at least one operand is needed}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.concat {axis = 0} : () -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{concat_c2: axis 2 is not a dimension of f32[2, 3]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.concat %a {axis = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error@+2 {{concat_c3: dimensions other than 0 must be equal, found f32[2, 3] and f32[2, 4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.concat %a, %b {axis = 0} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}
