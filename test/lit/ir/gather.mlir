// nn.gather: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.gather %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<100x16xf32>, tensor<2x7xi64>) -> tensor<2x7x16xf32>
func.func @example(%table: tensor<100x16xf32>, %tokens: tensor<2x7xi64>) -> (tensor<2x7x16xf32>) {
  %y = nn.gather %table, %tokens {axis = 0} : (tensor<100x16xf32>, tensor<2x7xi64>) -> tensor<2x7x16xf32>
  return %y : tensor<2x7x16xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.gather{{.*}} -> tensor<?x?x2x8xf32, #nn.enc<[N, S]>>
func.func @named_dims(%x: tensor<?x?x8xf32, #nn.enc<[N, T]>>, %i: tensor<?x2xi32, #nn.enc<[S]>>) {
  %y = nn.gather %x, %i {axis = 1} : (tensor<?x?x8xf32, #nn.enc<[N, T]>>, tensor<?x2xi32, #nn.enc<[S]>>) -> tensor<?x?x2x8xf32, #nn.enc<[N, S]>>
  return
}
