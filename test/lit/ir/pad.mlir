// nn.pad: its text form, what it infers from named dims, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.pad %{{.*}} reflect {begin = array<i64: 0, 1>, end = array<i64: 0, 2>} : tensor<2x3xf32> -> tensor<2x6xf32>
func.func @example(%x: tensor<2x3xf32>) -> (tensor<2x6xf32>) {
  %y = nn.pad %x reflect {begin = array<i64: 0, 1>, end = array<i64: 0, 2>} : tensor<2x3xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.pad{{.*}} -> tensor<?x?xf32, #nn.enc<[N, T + 3]>>
func.func @named_dims(%x: tensor<?x?xf32, #nn.enc<[N, T]>>) {
  %y = nn.pad %x circular {begin = array<i64: 0, 1>, end = array<i64: 0, 2>} : tensor<?x?xf32, #nn.enc<[N, T]>> -> tensor<?x?xf32, #nn.enc<[N, T + 3]>>
  return
}

// FOLD-LABEL: func.func @none
// FOLD: return %arg0
func.func @none(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = nn.pad %x constant {begin = array<i64: 0, 0>, end = array<i64: 0, 0>} : tensor<2x3xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
