// nn.tan: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.tan %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.tan %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(7[.]4702[0-9]*e-01|0[.]74702[0-9]*|7[.]4702[0-9]*E[+]?-1|7[.]470223e-01)}}, {{(-5[.]4630[0-9]*e-01|-0[.]54630[0-9]*|-5[.]4630[0-9]*E[+]?-1|-5[.]463025e-01)}}, 0.000000e+00, {{(9[.]3159[0-9]*e-01|0[.]93159[0-9]*|9[.]3159[0-9]*E[+]?-1|9[.]315965e-01)}}, {{(-1[.]4254[0-9]*e-01|-0[.]14254[0-9]*|-1[.]4254[0-9]*E[+]?-1|-1[.]425465e-01)}}]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0]> : tensor<5xf32>
  %y = nn.tan %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
