// nn.softplus: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.softplus %{{.*}} {beta = 2.000000e+00 : f64} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.softplus %x {beta = 2.0} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(3[.]3576[0-9]*e-03|0[.]0033576[0-9]*|3[.]3576[0-9]*E[+]?-3|3[.]357674e-03)}}, {{(1[.]5663[0-9]*e-01|0[.]15663[0-9]*|1[.]5663[0-9]*E[+]?-1|1[.]566308e-01)}}, {{(3[.]4657[0-9]*e-01|0[.]34657[0-9]*|3[.]4657[0-9]*E[+]?-1|3[.]465736e-01)}}, {{(8[.]5070[0-9]*e-01|0[.]85070[0-9]*|8[.]5070[0-9]*E[+]?-1|8[.]507066e-01)}}, {{(3[.]0012[0-9]*e[+]00|3[.]0012[0-9]*|3[.]0012[0-9]*E[+]?0|3[.]001238e[+]00)}}, 0.000000e+00, 2.000000e+02]>
func.func @formula() -> tensor<7xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, -200.0, 200.0]> : tensor<7xf32>
  %y = nn.softplus %x {beta = 2.0} : tensor<7xf32>
  return %y : tensor<7xf32>
}
