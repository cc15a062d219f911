// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{reduce_c1: axes must be dimensions of f32[2, 3, 4] in ascending order, each at most once; found 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.reduce_sum %x {axes = array<i64: 1, 1>} : tensor<2x3x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{reduce_c1: axes must be dimensions of f32[2, 3, 4] in ascending order, each at most once; found 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.reduce_max %x {axes = array<i64: 3>} : tensor<2x3x4xf32> -> tensor<2x4xf32>
  return
}
