// nn.clip: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.clip %{{.*}} {max = 6.000000e+00 : f64, min = 0.000000e+00 : f64} : tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.clip %x {max = 6.0, min = 0.0} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 7.500000e-01, 3.000000e+00, 6.000000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<7xf32> {
  %x = nn.constant dense<[-2.5, -0.5, 0.0, 0.75, 3.0, 9.0, 0x7FC00000]> : tensor<7xf32>
  %y = nn.clip %x {max = 6.0, min = 0.0} : tensor<7xf32>
  return %y : tensor<7xf32>
}

// FOLD-LABEL: func.func @within
// FOLD: nn.clip
// FOLD-NOT: nn.clip
func.func @within(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.clip %x {min = 0.0, max = 6.0} : tensor<4xf32>
  %1 = nn.clip %0 {min = -1.0, max = 8.0} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The bounds are read as the element type reads its bits.
// FOLD-LABEL: func.func @unsigned
// FOLD: nn.constant dense<[100, 150, 150]> : tensor<3xui8>
func.func @unsigned() -> tensor<3xui8> {
  %x = nn.constant dense<[1, 150, 250]> : tensor<3xui8>
  %y = nn.clip %x {min = 100.0, max = 150.0} : tensor<3xui8>
  return %y : tensor<3xui8>
}
