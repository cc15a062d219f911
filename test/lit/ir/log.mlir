// nn.log: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.log %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.log %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-1[.]3862[0-9]*e[+]00|-1[.]3862[0-9]*|-1[.]3862[0-9]*E[+]?0|-1[.]386294e[+]00)}}, {{(-6[.]9314[0-9]*e-01|-0[.]69314[0-9]*|-6[.]9314[0-9]*E[+]?-1|-6[.]931472e-01)}}, 0.000000e+00, {{(6[.]9314[0-9]*e-01|0[.]69314[0-9]*|6[.]9314[0-9]*E[+]?-1|6[.]931472e-01)}}, {{(2[.]1972[0-9]*e[+]00|2[.]1972[0-9]*|2[.]1972[0-9]*E[+]?0|2[.]197225e[+]00)}}, 0xFF800000]>
func.func @formula() -> tensor<6xf32> {
  %x = nn.constant dense<[0.25, 0.5, 1.0, 2.0, 9.0, 0.0]> : tensor<6xf32>
  %y = nn.log %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
