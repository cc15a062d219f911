// nn.linear_scan: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.linear_scan %{{.*}}, %{{.*}} first %{{.*}} {axis = 1 : i64} : (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x16xf32>) -> tensor<2x5x16xf32>
func.func @example(%a: tensor<2x5x16xf32>, %b: tensor<2x5x16xf32>, %c0: tensor<2x16xf32>) -> tensor<2x5x16xf32> {
  %s = nn.linear_scan %a, %b first %c0 {axis = 1}
     : (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x16xf32>) -> tensor<2x5x16xf32>
  return %s : tensor<2x5x16xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.linear_scan %{{.*}}, %{{.*}} {axis = 0 : i64, reverse} : {{.*}} -> tensor<?x16xf32, #nn.enc<[T]>>
func.func @named_dims(%a: tensor<?x16xf32, #nn.enc<[T]>>) {
  %s = nn.linear_scan %a, %a {axis = 0, reverse}
     : (tensor<?x16xf32, #nn.enc<[T]>>, tensor<?x16xf32, #nn.enc<[T]>>) -> tensor<?x16xf32, #nn.enc<[T]>>
  return
}
