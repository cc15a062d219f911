// nn.reciprocal: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.reciprocal %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.reciprocal %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-4[.]0000[0-9]*e-01|-0[.]40000[0-9]*|-4[.]0000[0-9]*E[+]?-1|-4[.]000000e-01)}}, 0x7F800000, {{(3[.]3333[0-9]*e-01|0[.]33333[0-9]*|3[.]3333[0-9]*E[+]?-1|3[.]333333e-01)}}]>
func.func @formula() -> tensor<3xf32> {
  %x = nn.constant dense<[-2.5, 0.0, 3.0]> : tensor<3xf32>
  %y = nn.reciprocal %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
