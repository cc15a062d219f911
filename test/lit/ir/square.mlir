// nn.square: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.square %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.square %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[6.250000e+00, 2.500000e-01, 0.000000e+00, 5.625000e-01, 9.000000e+00]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0]> : tensor<5xf32>
  %y = nn.square %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
