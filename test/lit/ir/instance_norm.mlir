// nn.instance_norm: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.instance_norm %{{.*}} scale %{{.*}} bias %{{.*}} : (tensor<1x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
func.func @example(%x: tensor<1x16x8x8xf32>, %s: tensor<16xf32>, %b: tensor<16xf32>) -> (tensor<1x16x8x8xf32>) {
  %y = nn.instance_norm %x scale %s bias %b : (tensor<1x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
  return %y : tensor<1x16x8x8xf32>
}
