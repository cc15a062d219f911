// nn.greater: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.greater %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
func.func @example(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xi1>) {
  %y = nn.greater %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  return %y : tensor<4x8xi1>
}

// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[false, false, true, false]>
func.func @formula() -> tensor<4xi1> {
  %a = nn.constant dense<[1.0, 2.0, 3.0, 0x7FC00000]> : tensor<4xf32>
  %b = nn.constant dense<[2.0, 2.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  %y = nn.greater %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %y : tensor<4xi1>
}

// Unsigned bytes above 127 are not negative.
// FOLD-LABEL: func.func @unsigned
// FOLD: nn.constant dense<[false, true, false]>
func.func @unsigned() -> tensor<3xi1> {
  %a = nn.constant dense<[0, 200, 7]> : tensor<3xui8>
  %b = nn.constant dense<[127, 128, 7]> : tensor<3xui8>
  %y = nn.greater %a, %b : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  return %y : tensor<3xi1>
}
