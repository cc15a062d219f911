// nn.reduce_mean: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.reduce_mean %{{.*}} {axes = array<i64: 1>, keepdims} : tensor<4x8xf32> -> tensor<4x1xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  %y = nn.reduce_mean %x {axes = array<i64: 1>, keepdims} : tensor<4x8xf32> -> tensor<4x1xf32>
  return %y : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.reduce_mean{{.*}} -> tensor<?xf32, #nn.enc<[N]>>
func.func @named_dims(%x: tensor<?x?x8xf32, #nn.enc<[N, T]>>) {
  %y = nn.reduce_mean %x {axes = array<i64: 1, 2>} : tensor<?x?x8xf32, #nn.enc<[N, T]>> -> tensor<?xf32, #nn.enc<[N]>>
  return
}
