// nn.div: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.div %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
func.func @example(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.div %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[3.500000e+00, -3.500000e+00, -3.500000e+00, 3.500000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<5xf32> {
  %a = nn.constant dense<[7.0, -7.0, 7.0, -7.0, 0x7FC00000]> : tensor<5xf32>
  %b = nn.constant dense<[2.0, 2.0, -2.0, -2.0, 1.0]> : tensor<5xf32>
  %y = nn.div %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// FOLD-LABEL: func.func @one
// FOLD: return %arg0
func.func @one(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %y = nn.div %x, %one : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// Towards zero; a zero divisor gives 0, and the most negative value over -1 wraps: nothing traps.
// FOLD-LABEL: func.func @integers
// FOLD: nn.constant dense<[-3, 3, 0, -2147483648]>
func.func @integers() -> tensor<4xi32> {
  %a = nn.constant dense<[-7, -7, 7, -2147483648]> : tensor<4xi32>
  %b = nn.constant dense<[2, -2, 0, -1]> : tensor<4xi32>
  %y = nn.div %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// FOLD-LABEL: func.func @unsigned
// FOLD: nn.constant dense<[100, 0]>
func.func @unsigned() -> tensor<2xui8> {
  %a = nn.constant dense<[200, 200]> : tensor<2xui8>
  %b = nn.constant dense<[2, 0]> : tensor<2xui8>
  %y = nn.div %a, %b : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  return %y : tensor<2xui8>
}
