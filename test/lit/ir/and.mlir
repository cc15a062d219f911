// nn.and: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.and %{{.*}}, %{{.*}} : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
func.func @example(%a: tensor<4x8xi1>, %b: tensor<8xi1>) -> (tensor<4x8xi1>) {
  %y = nn.and %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
  return %y : tensor<4x8xi1>
}

// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[false, false, false, true]>
func.func @formula() -> tensor<4xi1> {
  %a = nn.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = nn.constant dense<[false, true, false, true]> : tensor<4xi1>
  %y = nn.and %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %y : tensor<4xi1>
}
