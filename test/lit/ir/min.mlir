// nn.min: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.min %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
func.func @example(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.min %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[2.000000e+00, -7.000000e+00, -2.000000e+00, -7.000000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<5xf32> {
  %a = nn.constant dense<[7.0, -7.0, 7.0, -7.0, 0x7FC00000]> : tensor<5xf32>
  %b = nn.constant dense<[2.0, 2.0, -2.0, -2.0, 1.0]> : tensor<5xf32>
  %y = nn.min %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}
