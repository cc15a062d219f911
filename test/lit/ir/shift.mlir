// nn.shift: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.shift %{{.*}} first %{{.*}} {axis = 1 : i64} : (tensor<2x5x16xf32>, tensor<2x16xf32>) -> tensor<2x5x16xf32>
func.func @example(%y: tensor<2x5x16xf32>, %h0: tensor<2x16xf32>) -> tensor<2x5x16xf32> {
  %before = nn.shift %y first %h0 {axis = 1} : (tensor<2x5x16xf32>, tensor<2x16xf32>) -> tensor<2x5x16xf32>
  return %before : tensor<2x5x16xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.shift %{{.*}} {axis = 1 : i64, reverse} : (tensor<?x?x16xf32, #nn.enc<[N, T]>>) -> tensor<?x?x16xf32, #nn.enc<[N, T]>>
func.func @named_dims(%y: tensor<?x?x16xf32, #nn.enc<[N, T]>>) {
  %before = nn.shift %y {axis = 1, reverse} : (tensor<?x?x16xf32, #nn.enc<[N, T]>>) -> tensor<?x?x16xf32, #nn.enc<[N, T]>>
  return
}
