// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x16x8x8xf32>, %g: tensor<1x16x5x4xf32>) {
  // expected-error@+1 {{pool_gradient_c1: there is no such pool of f32[1, 16, 8, 8] to f32[1, 16, 5, 4]: }}
  %dx = nn.max_pool_gradient %x, %g {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x16x8x8xf32>, tensor<1x16x5x4xf32>) -> tensor<1x16x8x8xf32>
  return
}

// -----

func.func @f(%g: tensor<1x16x4x4xf32>) {
  // expected-error@+1 {{pool_gradient_c1: there is no such pool of f32[1, 16, 8, 8, 8] to f32[1, 16, 4, 4]: }}
  %dx = nn.avg_pool_gradient %g {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : tensor<1x16x4x4xf32> -> tensor<1x16x8x8x8xf32>
  return
}
