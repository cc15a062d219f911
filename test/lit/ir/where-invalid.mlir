// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%c: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xi32>) {
  // expected-error@+2 {{where_c1: on_true and on_false must have one element type, found f32[4] and i32[4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.where %c, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%c: tensor<3xi1>, %a: tensor<4xf32>, %b: tensor<1xf32>) {
  // expected-error@+2 {{where_c2: shapes of bool[3], f32[4] and f32[1] do not broadcast}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.where %c, %a, %b : (tensor<3xi1>, tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}
