// nn.silu: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.silu %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.silu %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-1[.]8964[0-9]*e-01|-0[.]18964[0-9]*|-1[.]8964[0-9]*E[+]?-1|-1[.]896455e-01)}}, {{(-1[.]8877[0-9]*e-01|-0[.]18877[0-9]*|-1[.]8877[0-9]*E[+]?-1|-1[.]887703e-01)}}, 0.000000e+00, {{(5[.]0938[0-9]*e-01|0[.]50938[0-9]*|5[.]0938[0-9]*E[+]?-1|5[.]093840e-01)}}, {{(2[.]8577[0-9]*e[+]00|2[.]8577[0-9]*|2[.]8577[0-9]*E[+]?0|2[.]857722e[+]00)}}, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<6xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, 0x7FC00000]> : tensor<6xf32>
  %y = nn.silu %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
