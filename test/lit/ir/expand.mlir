// nn.expand: its text form, what it infers from named dims, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.expand %{{.*}} : tensor<8x1xf32> -> tensor<4x8x16xf32>
func.func @example(%x: tensor<8x1xf32>) -> (tensor<4x8x16xf32>) {
  %y = nn.expand %x : tensor<8x1xf32> -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.expand{{.*}} -> tensor<?x8xf32, #nn.enc<[N]>>
func.func @named_dims(%x: tensor<1x8xf32>) {
  %y = nn.expand %x : tensor<1x8xf32> -> tensor<?x8xf32, #nn.enc<[N]>>
  return
}

// FOLD-LABEL: func.func @same
// FOLD: return %arg0
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.expand %x : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}
