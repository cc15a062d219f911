// nn.round: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.round %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.round %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[-2.000000e+00, 0.000000e+00, 1.000000e+00, 2.000000e+00, 2.000000e+00]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[-2.5, 0.5, 0.75, 1.5, 2.5]> : tensor<5xf32>
  %y = nn.round %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
