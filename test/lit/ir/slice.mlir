// nn.slice: its text form, what it infers from named dims, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.slice %{{.*}} {sizes = array<i64: -1, 2>, starts = array<i64: 0, -1>, steps = array<i64: 1, -3>} : tensor<?x8xf32, #nn.enc<[N]>> -> tensor<?x2xf32, #nn.enc<[N]>>
func.func @example(%x: tensor<?x8xf32, #nn.enc<[N]>>) -> (tensor<?x2xf32, #nn.enc<[N]>>) {
  %y = nn.slice %x {sizes = array<i64: -1, 2>, starts = array<i64: 0, -1>, steps = array<i64: 1, -3>} : tensor<?x8xf32, #nn.enc<[N]>> -> tensor<?x2xf32, #nn.enc<[N]>>
  return %y : tensor<?x2xf32, #nn.enc<[N]>>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.slice{{.*}} -> tensor<?x1x8xf32, #nn.enc<[N]>>
func.func @named_dims(%x: tensor<?x?x8xf32, #nn.enc<[N, T]>>) {
  %y = nn.slice %x {starts = array<i64: 0, -1, 0>, sizes = array<i64: -1, 1, -1>, steps = array<i64: 1, 1, 1>} : tensor<?x?x8xf32, #nn.enc<[N, T]>> -> tensor<?x1x8xf32, #nn.enc<[N]>>
  return
}

// FOLD-LABEL: func.func @whole
// FOLD: return %arg0
func.func @whole(%x: tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<?x8xf32, #nn.enc<[N]>> {
  %y = nn.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: -1, 8>, steps = array<i64: 1, 1>}
     : tensor<?x8xf32, #nn.enc<[N]>> -> tensor<?x8xf32, #nn.enc<[N]>>
  return %y : tensor<?x8xf32, #nn.enc<[N]>>
}

// FOLD-LABEL: func.func @reversed
// FOLD: nn.slice
func.func @reversed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = nn.slice %x {starts = array<i64: -1>, sizes = array<i64: 8>, steps = array<i64: -1>} : tensor<8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
