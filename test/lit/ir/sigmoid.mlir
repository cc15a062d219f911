// nn.sigmoid: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.sigmoid %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.sigmoid %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(7[.]5858[0-9]*e-02|0[.]075858[0-9]*|7[.]5858[0-9]*E[+]?-2|7[.]585818e-02)}}, {{(3[.]7754[0-9]*e-01|0[.]37754[0-9]*|3[.]7754[0-9]*E[+]?-1|3[.]775407e-01)}}, 5.000000e-01, {{(6[.]7917[0-9]*e-01|0[.]67917[0-9]*|6[.]7917[0-9]*E[+]?-1|6[.]791787e-01)}}, {{(9[.]5257[0-9]*e-01|0[.]95257[0-9]*|9[.]5257[0-9]*E[+]?-1|9[.]525741e-01)}}, 0.000000e+00, 1.000000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<8xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, -200.0, 200.0, 0x7FC00000]> : tensor<8xf32>
  %y = nn.sigmoid %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
