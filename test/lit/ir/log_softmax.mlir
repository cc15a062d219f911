// nn.log_softmax: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.log_softmax %{{.*}} {axis = 1 : i64} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.log_softmax %x {axis = 1} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
