// nn.conv_weight_gradient: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.conv_weight_gradient %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<?x3x8x8xf32, #nn.enc<[N]>>, tensor<?x16x8x8xf32, #nn.enc<[N]>>) -> tensor<16x3x3x3xf32>
func.func @example(%x: tensor<?x3x8x8xf32, #nn.enc<[N]>>, %g: tensor<?x16x8x8xf32, #nn.enc<[N]>>) -> tensor<16x3x3x3xf32> {
  %dw = nn.conv_weight_gradient %x, %g {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<?x3x8x8xf32, #nn.enc<[N]>>, tensor<?x16x8x8xf32, #nn.enc<[N]>>) -> tensor<16x3x3x3xf32>
  return %dw : tensor<16x3x3x3xf32>
}
