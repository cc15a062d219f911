// nn.layer_norm: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.layer_norm %{{.*}} scale %{{.*}} bias %{{.*}} {dims = 1 : i64} : (tensor<4x8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<4x8x64xf32>
func.func @example(%x: tensor<4x8x64xf32>, %s: tensor<64xf32>, %b: tensor<64xf32>) -> (tensor<4x8x64xf32>) {
  %y = nn.layer_norm %x scale %s bias %b {dims = 1} : (tensor<4x8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<4x8x64xf32>
  return %y : tensor<4x8x64xf32>
}
