// nn.adaptive_avg_pool: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.adaptive_avg_pool %{{.*}} {output_size = array<i64: 1, 1>} : tensor<1x16x8x8xf32> -> tensor<1x16x1x1xf32>
func.func @example(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x1x1xf32>) {
  %y = nn.adaptive_avg_pool %x {output_size = array<i64: 1, 1>} : tensor<1x16x8x8xf32> -> tensor<1x16x1x1xf32>
  return %y : tensor<1x16x1x1xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.adaptive_avg_pool{{.*}} -> tensor<?x4x3xf32, #nn.enc<[N]>>
func.func @named_dims(%x: tensor<?x4x?xf32, #nn.enc<[N, T]>>) {
  %y = nn.adaptive_avg_pool %x {output_size = array<i64: 3>} : tensor<?x4x?xf32, #nn.enc<[N, T]>> -> tensor<?x4x3xf32, #nn.enc<[N]>>
  return
}
