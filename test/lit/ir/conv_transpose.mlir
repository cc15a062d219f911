// nn.conv_transpose: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.conv_transpose %{{.*}}, %{{.*}} bias %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x16x4x4xf32>, tensor<16x8x3x3xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
func.func @example(%x: tensor<1x16x4x4xf32>, %w: tensor<16x8x3x3xf32>, %b: tensor<8xf32>) -> (tensor<1x8x8x8xf32>) {
  %y = nn.conv_transpose %x, %w bias %b {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x16x4x4xf32>, tensor<16x8x3x3xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
  return %y : tensor<1x8x8x8xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.conv_transpose{{.*}} -> tensor<?x8x?xf32, #nn.enc<[N, T * 2]>>
func.func @named_dims(%x: tensor<?x4x?xf32, #nn.enc<[N, T]>>, %w: tensor<4x8x3xf32>) {
  %y = nn.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>, output_padding = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x?xf32, #nn.enc<[N, T]>>, tensor<4x8x3xf32>) -> tensor<?x8x?xf32, #nn.enc<[N, T * 2]>>
  return
}
