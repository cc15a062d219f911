// nn.conv: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.conv %{{.*}}, %{{.*}} bias %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
func.func @example(%x: tensor<1x3x8x8xf32>, %w: tensor<16x3x3x3xf32>, %b: tensor<16xf32>) -> (tensor<1x16x8x8xf32>) {
  %y = nn.conv %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
  return %y : tensor<1x16x8x8xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.conv{{.*}} -> tensor<?x8x?x?xf32, #nn.enc<[N, ((H - 1) floordiv 2) + 1, W - 4]>>
func.func @named_dims(%x: tensor<?x3x?x?xf32, #nn.enc<[N, H, W]>>, %w: tensor<8x3x3x3xf32>) {
  %y = nn.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 0>, groups = 1 : i64} : (tensor<?x3x?x?xf32, #nn.enc<[N, H, W]>>, tensor<8x3x3x3xf32>) -> tensor<?x8x?x?xf32, #nn.enc<[N, (H - 1) floordiv 2 + 1, W - 4]>>
  return
}
