// nn.transpose: its text form, what it infers from named dims, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>} : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
func.func @example(%x: tensor<2x3x4xf32>) -> (tensor<2x4x3xf32>) {
  %y = nn.transpose %x {permutation = array<i64: 0, 2, 1>} : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.transpose{{.*}} -> tensor<?x?x8xf32, #nn.enc<[T, N]>>
func.func @named_dims(%x: tensor<?x?x8xf32, #nn.enc<[N, T]>>) {
  %y = nn.transpose %x {permutation = array<i64: 1, 0, 2>} : tensor<?x?x8xf32, #nn.enc<[N, T]>> -> tensor<?x?x8xf32, #nn.enc<[T, N]>>
  return
}

// FOLD-LABEL: func.func @inverse
// FOLD: return %arg0, %arg0
func.func @inverse(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = nn.transpose %x {permutation = array<i64: 1, 2, 0>} : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 2, 0, 1>} : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  %2 = nn.transpose %x {permutation = array<i64: 0, 1, 2>} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return %1, %2 : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// FOLD-LABEL: func.func @composed
// FOLD: nn.transpose %arg0 {permutation = array<i64: 2, 0, 1>} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// FOLD-NEXT: return
func.func @composed(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = nn.transpose %x {permutation = array<i64: 1, 2, 0>} : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 1, 2, 0>} : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}
