// nn.hard_sigmoid: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.hard_sigmoid %{{.*}} {alpha = 2.000000e-01 : f64} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.hard_sigmoid %x {alpha = 0.2} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[0.000000e+00, {{(4[.]0000[0-9]*e-01|0[.]40000[0-9]*|4[.]0000[0-9]*E[+]?-1|4[.]000000e-01)}}, 5.000000e-01, {{(6[.]4999[0-9]*e-01|0[.]64999[0-9]*|6[.]4999[0-9]*E[+]?-1|6[.]500000e-01)}}, 1.000000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<6xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, 0x7FC00000]> : tensor<6xf32>
  %y = nn.hard_sigmoid %x {alpha = 0.2} : tensor<6xf32>
  return %y : tensor<6xf32>
}
