// nn.pow: its text form, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.pow %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
func.func @example(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>) {
  %y = nn.pow %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The formula, evaluated on constants; expected values by Python's math module.
// FOLD-LABEL: func.func @formula
// FOLD: nn.constant dense<[4.900000e+01, 4.900000e+01, {{(2[.]0408[0-9]*e-02|0[.]020408[0-9]*|2[.]0408[0-9]*E[+]?-2|2[.]040816e-02)}}, {{(2[.]0408[0-9]*e-02|0[.]020408[0-9]*|2[.]0408[0-9]*E[+]?-2|2[.]040816e-02)}}, 0x{{7F|FF}}C00000]>
func.func @formula() -> tensor<5xf32> {
  %a = nn.constant dense<[7.0, -7.0, 7.0, -7.0, 0x7FC00000]> : tensor<5xf32>
  %b = nn.constant dense<[2.0, 2.0, -2.0, -2.0, 1.0]> : tensor<5xf32>
  %y = nn.pow %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// FOLD-LABEL: func.func @cheaper
// FOLD: nn.square %arg0
// FOLD: nn.sqrt %arg0
// FOLD: nn.rsqrt %arg0
// FOLD: nn.reciprocal %arg0
// FOLD-NOT: nn.pow
func.func @cheaper(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = nn.constant dense<2.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %minusHalf = nn.constant dense<-0.5> : tensor<f32>
  %minusOne = nn.constant dense<-1.0> : tensor<f32>
  %0 = nn.pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.pow %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = nn.pow %x, %minusHalf : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.pow %x, %minusOne : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
