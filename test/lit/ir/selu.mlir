// nn.selu: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.selu %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.selu %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-1[.]6137[0-9]*e[+]00|-1[.]6137[0-9]*|-1[.]6137[0-9]*E[+]?0|-1[.]613786e[+]00)}}, {{(-6[.]9175[0-9]*e-01|-0[.]69175[0-9]*|-6[.]9175[0-9]*E[+]?-1|-6[.]917582e-01)}}, 0.000000e+00, {{(7[.]8802[0-9]*e-01|0[.]78802[0-9]*|7[.]8802[0-9]*E[+]?-1|7[.]880257e-01)}}, {{(3[.]1521[0-9]*e[+]00|3[.]1521[0-9]*|3[.]1521[0-9]*E[+]?0|3[.]152103e[+]00)}}, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<6xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, 0x7FC00000]> : tensor<6xf32>
  %y = nn.selu %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
