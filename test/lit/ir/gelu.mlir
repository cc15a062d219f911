// nn.gelu: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.gelu %{{.*}} {tanh_approximation} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.gelu %x {tanh_approximation} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[{{(-1[.]5084[0-9]*e-02|-0[.]015084[0-9]*|-1[.]5084[0-9]*E[+]?-2|-1[.]508427e-02)}}, {{(-1[.]5428[0-9]*e-01|-0[.]15428[0-9]*|-1[.]5428[0-9]*E[+]?-1|-1[.]542860e-01)}}, 0.000000e+00, {{(5[.]7996[0-9]*e-01|0[.]57996[0-9]*|5[.]7996[0-9]*E[+]?-1|5[.]799606e-01)}}, {{(2[.]9963[0-9]*e[+]00|2[.]9963[0-9]*|2[.]9963[0-9]*E[+]?0|2[.]996363e[+]00)}}, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<6xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, 0x7FC00000]> : tensor<6xf32>
  %y = nn.gelu %x {tanh_approximation} : tensor<6xf32>
  return %y : tensor<6xf32>
}
