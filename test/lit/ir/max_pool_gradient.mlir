// nn.max_pool_gradient: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.max_pool_gradient %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<?x16x8x8xf32, #nn.enc<[N]>>, tensor<?x16x4x4xf32, #nn.enc<[N]>>) -> tensor<?x16x8x8xf32, #nn.enc<[N]>>
func.func @example(%x: tensor<?x16x8x8xf32, #nn.enc<[N]>>, %g: tensor<?x16x4x4xf32, #nn.enc<[N]>>) -> tensor<?x16x8x8xf32, #nn.enc<[N]>> {
  %dx = nn.max_pool_gradient %x, %g {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<?x16x8x8xf32, #nn.enc<[N]>>, tensor<?x16x4x4xf32, #nn.enc<[N]>>) -> tensor<?x16x8x8xf32, #nn.enc<[N]>>
  return %dx : tensor<?x16x8x8xf32, #nn.enc<[N]>>
}
