// nn.dropout: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.dropout %{{.*}} {p = 5.000000e-01 : f64} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.dropout %x {p = 0.5} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// FOLD-LABEL: func.func @never
// FOLD: return %arg0
func.func @never(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.dropout %x {p = 0.0} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// Others stay until a pass decides between training and inference.
// FOLD-LABEL: func.func @stays
// FOLD: nn.dropout
func.func @stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.dropout %x {p = 0.5} : tensor<4xf32>
  return %y : tensor<4xf32>
}
