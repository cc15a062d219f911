// nn.reduce_min: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.reduce_min %{{.*}} {axes = array<i64: 1>, keepdims} : tensor<4x8xf32> -> tensor<4x1xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  %y = nn.reduce_min %x {axes = array<i64: 1>, keepdims} : tensor<4x8xf32> -> tensor<4x1xf32>
  return %y : tensor<4x1xf32>
}
