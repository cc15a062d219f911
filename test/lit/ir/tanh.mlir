// nn.tanh: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.tanh %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.tanh %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-9[.]8661[0-9]*e-01|-0[.]98661[0-9]*|-9[.]8661[0-9]*E[+]?-1|-9[.]866143e-01)}}, {{(-4[.]6211[0-9]*e-01|-0[.]46211[0-9]*|-4[.]6211[0-9]*E[+]?-1|-4[.]621172e-01)}}, 0.000000e+00, {{(6[.]3514[0-9]*e-01|0[.]63514[0-9]*|6[.]3514[0-9]*E[+]?-1|6[.]351489e-01)}}, {{(9[.]9505[0-9]*e-01|0[.]99505[0-9]*|9[.]9505[0-9]*E[+]?-1|9[.]950548e-01)}}, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<6xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, 0x7FC00000]> : tensor<6xf32>
  %y = nn.tanh %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
