// nn.reshape: its text form, what it infers from named dims, what it folds to.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.reshape %{{.*}} : tensor<?x4x8xf32, #nn.enc<[N]>> -> tensor<?x32xf32, #nn.enc<[N]>>
func.func @example(%x: tensor<?x4x8xf32, #nn.enc<[N]>>) -> (tensor<?x32xf32, #nn.enc<[N]>>) {
  %y = nn.reshape %x : tensor<?x4x8xf32, #nn.enc<[N]>> -> tensor<?x32xf32, #nn.enc<[N]>>
  return %y : tensor<?x32xf32, #nn.enc<[N]>>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.reshape{{.*}} -> tensor<?x2x4xf32, #nn.enc<[N * T]>>
func.func @named_dims(%x: tensor<?x?x8xf32, #nn.enc<[N, T]>>) {
  %y = nn.reshape %x : tensor<?x?x8xf32, #nn.enc<[N, T]>> -> tensor<?x2x4xf32, #nn.enc<[N * T]>>
  return
}

// FOLD-LABEL: func.func @chain
// FOLD: nn.reshape %arg0 : tensor<2x12xf32> -> tensor<24xf32>
// FOLD: return %{{.*}}, %arg0
func.func @chain(%x: tensor<2x12xf32>) -> (tensor<24xf32>, tensor<2x12xf32>) {
  %0 = nn.reshape %x : tensor<2x12xf32> -> tensor<2x3x4xf32>
  %1 = nn.reshape %0 : tensor<2x3x4xf32> -> tensor<24xf32>
  %2 = nn.reshape %0 : tensor<2x3x4xf32> -> tensor<2x12xf32>
  return %1, %2 : tensor<24xf32>, tensor<2x12xf32>
}

// FOLD-LABEL: func.func @constant
// FOLD{LITERAL}: nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
func.func @constant() -> tensor<2x2xi32> {
  %x = nn.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %y = nn.reshape %x : tensor<4xi32> -> tensor<2x2xi32>
  return %y : tensor<2x2xi32>
}
