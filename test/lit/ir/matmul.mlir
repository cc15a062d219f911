// nn.matmul: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.matmul %{{.*}}, %{{.*}} bias %{{.*}} {transpose_rhs} : (tensor<8x784xf32>, tensor<64x784xf32>, tensor<64xf32>) -> tensor<8x64xf32>
func.func @example(%x: tensor<8x784xf32>, %w: tensor<64x784xf32>, %b: tensor<64xf32>) -> (tensor<8x64xf32>) {
  %y = nn.matmul %x, %w bias %b {transpose_rhs} : (tensor<8x784xf32>, tensor<64x784xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.matmul{{.*}} -> tensor<?x12x?x?xf32, #nn.enc<[N, T, S]>>
func.func @named_dims(%a: tensor<?x12x?x64xf32, #nn.enc<[N, T]>>, %b: tensor<?x12x?x64xf32, #nn.enc<[N, S]>>) {
  %y = nn.matmul %a, %b {transpose_rhs} : (tensor<?x12x?x64xf32, #nn.enc<[N, T]>>, tensor<?x12x?x64xf32, #nn.enc<[N, S]>>) -> tensor<?x12x?x?xf32, #nn.enc<[N, T, S]>>
  return
}
