// nn.mul: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.mul %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
func.func @example(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.mul %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[1.400000e+01, -1.400000e+01, -1.400000e+01, 1.400000e+01, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<5xf32> {
  %a = nn.constant dense<[7.0, -7.0, 7.0, -7.0, 0x7FC00000]> : tensor<5xf32>
  %b = nn.constant dense<[2.0, 2.0, -2.0, -2.0, 1.0]> : tensor<5xf32>
  %y = nn.mul %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// FOLD-LABEL: func.func @one
// FOLD: return %arg0
func.func @one(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %one = nn.constant dense<1.0> : tensor<1xbf16>
  %y = nn.mul %x, %one : (tensor<2x3xbf16>, tensor<1xbf16>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}

// Half precision is computed in f32 and rounded once: 2049 is not a half.
// FOLD-LABEL: func.func @half
// FOLD: nn.constant dense<2.048000e+03> : tensor<2xf16>
func.func @half() -> tensor<2xf16> {
  %a = nn.constant dense<683.0> : tensor<2xf16>
  %b = nn.constant dense<3.0> : tensor<2xf16>
  %y = nn.mul %a, %b : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  return %y : tensor<2xf16>
}
