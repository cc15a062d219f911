// nn.rms_norm: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.rms_norm %{{.*}} scale %{{.*}} {dims = 1 : i64} : (tensor<4x8x64xf32>, tensor<64xf32>) -> tensor<4x8x64xf32>
func.func @example(%x: tensor<4x8x64xf32>, %s: tensor<64xf32>) -> (tensor<4x8x64xf32>) {
  %y = nn.rms_norm %x scale %s {dims = 1} : (tensor<4x8x64xf32>, tensor<64xf32>) -> tensor<4x8x64xf32>
  return %y : tensor<4x8x64xf32>
}
