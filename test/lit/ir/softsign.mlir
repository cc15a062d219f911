// nn.softsign: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.softsign %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.softsign %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-7[.]1428[0-9]*e-01|-0[.]71428[0-9]*|-7[.]1428[0-9]*E[+]?-1|-7[.]142857e-01)}}, {{(-3[.]3333[0-9]*e-01|-0[.]33333[0-9]*|-3[.]3333[0-9]*E[+]?-1|-3[.]333333e-01)}}, 0.000000e+00, {{(4[.]2857[0-9]*e-01|0[.]42857[0-9]*|4[.]2857[0-9]*E[+]?-1|4[.]285714e-01)}}, 7.500000e-01]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0]> : tensor<5xf32>
  %y = nn.softsign %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
