// nn.where: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.where %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xi1>, tensor<8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
func.func @example(%c: tensor<4x8xi1>, %a: tensor<8xf32>, %b: tensor<1xf32>) -> (tensor<4x8xf32>) {
  %y = nn.where %c, %a, %b : (tensor<4x8xi1>, tensor<8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// FOLD-LABEL: func.func @known
// FOLD: return %arg0, %arg1
func.func @known(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %true = nn.constant dense<true> : tensor<4xi1>
  %false = nn.constant dense<false> : tensor<4xi1>
  %0 = nn.where %true, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.where %false, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
