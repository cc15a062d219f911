// nn.argmin: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.argmin %{{.*}} {axis = 1 : i64} : tensor<4x8xf32> -> tensor<4xi64>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4xi64>) {
  %y = nn.argmin %x {axis = 1} : tensor<4x8xf32> -> tensor<4xi64>
  return %y : tensor<4xi64>
}
