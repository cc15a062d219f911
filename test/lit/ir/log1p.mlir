// nn.log1p: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.log1p %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.log1p %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-6[.]9314[0-9]*e-01|-0[.]69314[0-9]*|-6[.]9314[0-9]*E[+]?-1|-6[.]931472e-01)}}, 0.000000e+00, {{(9[.]9950[0-9]*e-04|0[.]00099950[0-9]*|9[.]9950[0-9]*E[+]?-4|9[.]995003e-04)}}, {{(1[.]3862[0-9]*e[+]00|1[.]3862[0-9]*|1[.]3862[0-9]*E[+]?0|1[.]386294e[+]00)}}]>
func.func @formula() -> tensor<4xf32> {
  %x = nn.constant dense<[-0.5, 0.0, 0.001, 3.0]> : tensor<4xf32>
  %y = nn.log1p %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
