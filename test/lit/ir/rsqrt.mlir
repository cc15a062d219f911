// nn.rsqrt: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.rsqrt %{{.*}} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.rsqrt %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[2.000000e+00, {{(1[.]4142[0-9]*e[+]00|1[.]4142[0-9]*|1[.]4142[0-9]*E[+]?0|1[.]414214e[+]00)}}, 1.000000e+00, {{(7[.]0710[0-9]*e-01|0[.]70710[0-9]*|7[.]0710[0-9]*E[+]?-1|7[.]071068e-01)}}, {{(3[.]3333[0-9]*e-01|0[.]33333[0-9]*|3[.]3333[0-9]*E[+]?-1|3[.]333333e-01)}}]>
func.func @formula() -> tensor<5xf32> {
  %x = nn.constant dense<[0.25, 0.5, 1.0, 2.0, 9.0]> : tensor<5xf32>
  %y = nn.rsqrt %x : tensor<5xf32>
  return %y : tensor<5xf32>
}
