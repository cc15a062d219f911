// nn.hard_swish: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.hard_swish %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.hard_swish %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-2[.]0833[0-9]*e-01|-0[.]20833[0-9]*|-2[.]0833[0-9]*E[+]?-1|-2[.]083333e-01)}}, {{(-2[.]0833[0-9]*e-01|-0[.]20833[0-9]*|-2[.]0833[0-9]*E[+]?-1|-2[.]083333e-01)}}, 0.000000e+00, 4.687500e-01, 3.000000e+00, -0.000000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<7xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, -3.5, 0x7FC00000]> : tensor<7xf32>
  %y = nn.hard_swish %x : tensor<7xf32>
  return %y : tensor<7xf32>
}
