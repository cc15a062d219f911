// nn.adaptive_max_pool: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.adaptive_max_pool %{{.*}} {output_size = array<i64: 1, 1>} : tensor<1x16x8x8xf32> -> tensor<1x16x1x1xf32>
func.func @example(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x1x1xf32>) {
  %y = nn.adaptive_max_pool %x {output_size = array<i64: 1, 1>} : tensor<1x16x8x8xf32> -> tensor<1x16x1x1xf32>
  return %y : tensor<1x16x1x1xf32>
}
