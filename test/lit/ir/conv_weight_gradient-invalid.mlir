// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x3x8x8xf32>, %g: tensor<1x16x8x8xf32>) {
  // expected-error@+1 {{conv_weight_gradient_c1: there is no such convolution to f32[1, 16, 8, 8]: conv_c3: groups (1) must divide}}
  %dw = nn.conv_weight_gradient %x, %g {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<16x4x3x3xf32>
  return
}
