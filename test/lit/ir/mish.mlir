// nn.mish: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.mish %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.mish %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-1[.]9681[0-9]*e-01|-0[.]19681[0-9]*|-1[.]9681[0-9]*E[+]?-1|-1[.]968162e-01)}}, {{(-2[.]2074[0-9]*e-01|-0[.]22074[0-9]*|-2[.]2074[0-9]*E[+]?-1|-2[.]207438e-01)}}, 0.000000e+00, {{(6[.]1001[0-9]*e-01|0[.]61001[0-9]*|6[.]1001[0-9]*E[+]?-1|6[.]100183e-01)}}, {{(2[.]9865[0-9]*e[+]00|2[.]9865[0-9]*|2[.]9865[0-9]*E[+]?0|2[.]986535e[+]00)}}]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0]> : tensor<5xf32>
  %y = nn.mish %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
