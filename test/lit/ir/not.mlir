// nn.not: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.not %{{.*}} : tensor<4x8xi1>
func.func @example(%x: tensor<4x8xi1>) -> (tensor<4x8xi1>) {
  %y = nn.not %x : tensor<4x8xi1>
  return %y : tensor<4x8xi1>
}

// FOLD-LABEL: func.func @twice
// FOLD: return %arg0
func.func @twice(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = nn.not %x : tensor<4xi1>
  %1 = nn.not %0 : tensor<4xi1>
  return %1 : tensor<4xi1>
}

// FOLD-LABEL: func.func @formula
// FOLD-DAG: nn.constant dense<[false, true]> : tensor<2xi1>
// FOLD-DAG: nn.constant dense<[-1, -6]> : tensor<2xi32>
func.func @formula() -> (tensor<2xi1>, tensor<2xi32>) {
  %a = nn.constant dense<[true, false]> : tensor<2xi1>
  %b = nn.constant dense<[0, 5]> : tensor<2xi32>
  %0 = nn.not %a : tensor<2xi1>
  %1 = nn.not %b : tensor<2xi32>
  return %0, %1 : tensor<2xi1>, tensor<2xi32>
}
