// nn.cast: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.cast %{{.*}} {to = i32} : tensor<4x8xf32> -> tensor<4x8xi32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xi32>) {
  %y = nn.cast %x {to = i32} : tensor<4x8xf32> -> tensor<4x8xi32>
  return %y : tensor<4x8xi32>
}

// FOLD-LABEL: func.func @same
// FOLD: return %arg0
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.cast %x {to = f32} : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// Truncation towards zero, saturation, and 0 for NaN.
// FOLD-LABEL: func.func @to_integers
// FOLD-DAG: nn.constant dense<[2, -2, 2147483647, -2147483648, 0]> : tensor<5xi32>
// FOLD-DAG: nn.constant dense<[2, 0, 255, 0, 0]> : tensor<5xui8>
// FOLD-DAG: nn.constant dense<[2, -2, 127, -128, 0]> : tensor<5xi8>
// FOLD-DAG: nn.constant dense<true> : tensor<5xi1>
func.func @to_integers() -> (tensor<5xi32>, tensor<5xui8>, tensor<5xi8>, tensor<5xi1>) {
  %x = nn.constant dense<[2.9, -2.9, 1.0e30, -1.0e30, 0x7FC00000]> : tensor<5xf32>
  %0 = nn.cast %x {to = i32} : tensor<5xf32> -> tensor<5xi32>
  %1 = nn.cast %x {to = ui8} : tensor<5xf32> -> tensor<5xui8>
  %2 = nn.cast %x {to = i8} : tensor<5xf32> -> tensor<5xi8>
  %3 = nn.cast %x {to = i1} : tensor<5xf32> -> tensor<5xi1>
  return %0, %1, %2, %3 : tensor<5xi32>, tensor<5xui8>, tensor<5xi8>, tensor<5xi1>
}

// A bool is 0 or 1, a ui8 is unsigned, integers keep their low bits.
// FOLD-LABEL: func.func @from_integers
// FOLD-DAG: nn.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
// FOLD-DAG: nn.constant dense<[200, 7]> : tensor<2xi32>
// FOLD-DAG: nn.constant dense<[-56, 7]> : tensor<2xi8>
func.func @from_integers() -> (tensor<2xf32>, tensor<2xi32>, tensor<2xi8>) {
  %bools = nn.constant dense<[false, true]> : tensor<2xi1>
  %bytes = nn.constant dense<[200, 7]> : tensor<2xui8>
  %words = nn.constant dense<[200, 263]> : tensor<2xi32>
  %0 = nn.cast %bools {to = f32} : tensor<2xi1> -> tensor<2xf32>
  %1 = nn.cast %bytes {to = i32} : tensor<2xui8> -> tensor<2xi32>
  %2 = nn.cast %words {to = i8} : tensor<2xi32> -> tensor<2xi8>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xi32>, tensor<2xi8>
}
