// nn.exp: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.exp %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.exp %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(8[.]2084[0-9]*e-02|0[.]082084[0-9]*|8[.]2084[0-9]*E[+]?-2|8[.]208500e-02)}}, {{(6[.]0653[0-9]*e-01|0[.]60653[0-9]*|6[.]0653[0-9]*E[+]?-1|6[.]065307e-01)}}, 1.000000e+00, {{(2[.]1170[0-9]*e[+]00|2[.]1170[0-9]*|2[.]1170[0-9]*E[+]?0|2[.]117000e[+]00)}}, {{(2[.]0085[0-9]*e[+]01|20[.]085[0-9]*|2[.]0085[0-9]*E[+]?1|2[.]008554e[+]01)}}, 0x7F800000]>
func.func @formula() -> tensor<6xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, 100.0]> : tensor<6xf32>
  %y = nn.exp %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
