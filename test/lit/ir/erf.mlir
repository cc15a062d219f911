// nn.erf: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.erf %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.erf %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-9[.]9959[0-9]*e-01|-0[.]99959[0-9]*|-9[.]9959[0-9]*E[+]?-1|-9[.]995930e-01)}}, {{(-5[.]2049[0-9]*e-01|-0[.]52049[0-9]*|-5[.]2049[0-9]*E[+]?-1|-5[.]204999e-01)}}, 0.000000e+00, {{(7[.]1115[0-9]*e-01|0[.]71115[0-9]*|7[.]1115[0-9]*E[+]?-1|7[.]111557e-01)}}, {{(9[.]9997[0-9]*e-01|0[.]99997[0-9]*|9[.]9997[0-9]*E[+]?-1|9[.]999779e-01)}}]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0]> : tensor<5xf32>
  %y = nn.erf %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
