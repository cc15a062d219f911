// nn.batch_norm: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<1x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
func.func @example(%x: tensor<1x16x8x8xf32>, %scale: tensor<16xf32>, %bias: tensor<16xf32>, %mean: tensor<16xf32>, %variance: tensor<16xf32>) -> (tensor<1x16x8x8xf32>) {
  %y = nn.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 1.0e-05} : (tensor<1x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
  return %y : tensor<1x16x8x8xf32>
}
