// nn.sin: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.sin %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.sin %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-5[.]9847[0-9]*e-01|-0[.]59847[0-9]*|-5[.]9847[0-9]*E[+]?-1|-5[.]984721e-01)}}, {{(-4[.]7942[0-9]*e-01|-0[.]47942[0-9]*|-4[.]7942[0-9]*E[+]?-1|-4[.]794255e-01)}}, 0.000000e+00, {{(6[.]8163[0-9]*e-01|0[.]68163[0-9]*|6[.]8163[0-9]*E[+]?-1|6[.]816388e-01)}}, {{(1[.]4112[0-9]*e-01|0[.]14112[0-9]*|1[.]4112[0-9]*E[+]?-1|1[.]411200e-01)}}]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0]> : tensor<5xf32>
  %y = nn.sin %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
