// nn.mod: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.mod %{{.*}}, %{{.*}} : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
func.func @example(%a: tensor<4x8xi32>, %b: tensor<8xi32>) -> (tensor<4x8xi32>) {
  %y = nn.mod %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
  return %y : tensor<4x8xi32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[1.000000e+00, 1.000000e+00, -1.000000e+00, -1.000000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<5xf32> {
  %a = nn.constant dense<[7.0, -7.0, 7.0, -7.0, 0x7FC00000]> : tensor<5xf32>
  %b = nn.constant dense<[2.0, 2.0, -2.0, -2.0, 1.0]> : tensor<5xf32>
  %y = nn.mod %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// FOLD-LABEL: func.func @integers
// FOLD: nn.constant dense<[1, 1, -1, 0]>
func.func @integers() -> tensor<4xi32> {
  %a = nn.constant dense<[7, -7, 7, 7]> : tensor<4xi32>
  %b = nn.constant dense<[2, 2, -2, 0]> : tensor<4xi32>
  %y = nn.mod %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// FOLD-LABEL: func.func @truncated
// FOLD: nn.constant dense<[1, -1, 1]>
func.func @truncated() -> tensor<3xi32> {
  %a = nn.constant dense<[7, -7, 7]> : tensor<3xi32>
  %b = nn.constant dense<[2, 2, -2]> : tensor<3xi32>
  %y = nn.mod %a, %b {truncate} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %y : tensor<3xi32>
}
