// nn.abs: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.abs %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.abs %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[2.500000e+00, 5.000000e-01, 0.000000e+00, 7.500000e-01, 3.000000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<6xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, 0x7FC00000]> : tensor<6xf32>
  %y = nn.abs %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
