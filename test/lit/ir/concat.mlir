// nn.concat: its text form, what it infers from named dims, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
func.func @example(%a: tensor<2x3xf32>, %b: tensor<2x5xf32>) -> (tensor<2x8xf32>) {
  %y = nn.concat %a, %b {axis = 1} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.concat{{.*}} -> tensor<?x?x8xf32, #nn.enc<[N, (T + S) + 3]>>
func.func @named_dims(%a: tensor<?x?x8xf32, #nn.enc<[N, T]>>, %b: tensor<?x?x8xf32, #nn.enc<[N, S]>>, %c: tensor<?x3x8xf32, #nn.enc<[N]>>) {
  %y = nn.concat %a, %b, %c {axis = 1} : (tensor<?x?x8xf32, #nn.enc<[N, T]>>, tensor<?x?x8xf32, #nn.enc<[N, S]>>, tensor<?x3x8xf32, #nn.enc<[N]>>) -> tensor<?x?x8xf32, #nn.enc<[N, T + S + 3]>>
  return
}

// FOLD-LABEL: func.func @one
// FOLD: return %arg0
func.func @one(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = nn.concat %x {axis = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
