// nn.cos: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.cos %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.cos %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-8[.]0114[0-9]*e-01|-0[.]80114[0-9]*|-8[.]0114[0-9]*E[+]?-1|-8[.]011436e-01)}}, {{(8[.]7758[0-9]*e-01|0[.]87758[0-9]*|8[.]7758[0-9]*E[+]?-1|8[.]775826e-01)}}, 1.000000e+00, {{(7[.]3168[0-9]*e-01|0[.]73168[0-9]*|7[.]3168[0-9]*E[+]?-1|7[.]316889e-01)}}, {{(-9[.]8999[0-9]*e-01|-0[.]98999[0-9]*|-9[.]8999[0-9]*E[+]?-1|-9[.]899925e-01)}}]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0]> : tensor<5xf32>
  %y = nn.cos %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
