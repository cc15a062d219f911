// nn.expm1: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.expm1 %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.expm1 %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-9[.]1791[0-9]*e-01|-0[.]91791[0-9]*|-9[.]1791[0-9]*E[+]?-1|-9[.]179150e-01)}}, {{(6[.]4872[0-9]*e-01|0[.]64872[0-9]*|6[.]4872[0-9]*E[+]?-1|6[.]487213e-01)}}, {{(1[.]0005[0-9]*e-03|0[.]0010005[0-9]*|1[.]0005[0-9]*E[+]?-3|1[.]000500e-03)}}]>
func.func @formula() -> tensor<3xf32> {
  %x = nn.constant dense<[-2.5, 0.5, 0.001]> : tensor<3xf32>
  %y = nn.expm1 %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
