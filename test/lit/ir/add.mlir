// nn.add: its text form, what it infers from named dims, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.add %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
func.func @example(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.add{{.*}} -> tensor<?x?x8xf32, #nn.enc<[N, T]>>
func.func @named_dims(%a: tensor<?x1x8xf32, #nn.enc<[N]>>, %b: tensor<?x8xf32, #nn.enc<[T]>>) {
  %y = nn.add %a, %b : (tensor<?x1x8xf32, #nn.enc<[N]>>, tensor<?x8xf32, #nn.enc<[T]>>) -> tensor<?x?x8xf32, #nn.enc<[N, T]>>
  return
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[9.000000e+00, -5.000000e+00, 5.000000e+00, -9.000000e+00, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<5xf32> {
  %a = nn.constant dense<[7.0, -7.0, 7.0, -7.0, 0x7FC00000]> : tensor<5xf32>
  %b = nn.constant dense<[2.0, 2.0, -2.0, -2.0, 1.0]> : tensor<5xf32>
  %y = nn.add %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// FOLD-LABEL: func.func @zero
// FOLD: return %arg0
func.func @zero(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %y = nn.add %zero, %x : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// A constant that widens the result stays.
// FOLD-LABEL: func.func @widened
// FOLD: nn.add
func.func @widened(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %zero = nn.constant dense<0.0> : tensor<2x1xf32>
  %y = nn.add %x, %zero : (tensor<3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// FOLD-LABEL: func.func @broadcast
// FOLD{LITERAL}: nn.constant dense<[[11, 12], [21, 22], [31, 32]]> : tensor<3x2xi32>
func.func @broadcast() -> tensor<3x2xi32> {
  %a = nn.constant dense<[[10], [20], [30]]> : tensor<3x1xi32>
  %b = nn.constant dense<[1, 2]> : tensor<2xi32>
  %y = nn.add %a, %b : (tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x2xi32>
  return %y : tensor<3x2xi32>
}
