// A linear layer behind flatten reads the channels-last image as it lies; its weight is permuted instead.
// RUN: nncc-opt %s --fold-flatten --canonicalize | FileCheck %s

// CHECK-DAG: #[[LAST:[a-z_0-9]+]] = #nn.enc<[N], order = [0, 2, 3, 1]>

#cl = #nn.enc<[N], order = [0, 2, 3, 1]>
module attributes {nn.dims = [#nn.dim<"N", 1, 64>]} {
  nn.parameter @fc.weight : tensor<10x128xf32>
  nn.parameter @fc.plain : tensor<128x10xf32>

  // CHECK-LABEL: func.func @linear
  // CHECK-SAME: (%[[X:.*]]: tensor<?x8x4x4xf32
  // CHECK-NOT: nn.reorder
  // CHECK-DAG: %[[W:.*]] = nn.get_parameter @fc.weight
  // CHECK-DAG: %[[W4:.*]] = nn.reshape %[[W]] : tensor<10x128xf32> -> tensor<10x8x4x4xf32>
  // CHECK-DAG: %[[WT:.*]] = nn.transpose %[[W4]] {permutation = array<i64: 0, 2, 3, 1>} : tensor<10x8x4x4xf32> -> tensor<10x4x4x8xf32>
  // CHECK-DAG: %[[W2:.*]] = nn.reshape %[[WT]] : tensor<10x4x4x8xf32> -> tensor<10x128xf32>
  // CHECK-DAG: %[[XT:.*]] = nn.transpose %[[X]] {permutation = array<i64: 0, 2, 3, 1>} : tensor<?x8x4x4xf32, #[[LAST]]> -> tensor<?x4x4x8xf32, #nn.enc<[N]>>
  // CHECK-DAG: %[[X2:.*]] = nn.reshape %[[XT]] : tensor<?x4x4x8xf32, #nn.enc<[N]>> -> tensor<?x128xf32, #nn.enc<[N]>>
  // CHECK: nn.matmul %[[X2]], %[[W2]] {transpose_rhs}
  func.func @linear(%x: tensor<?x8x4x4xf32, #cl>) -> tensor<?x10xf32, #nn.enc<[N]>> {
    %w = nn.get_parameter @fc.weight : tensor<10x128xf32>
    %0 = nn.reorder %x : tensor<?x8x4x4xf32, #cl> to tensor<?x8x4x4xf32, #nn.enc<[N]>>
    %1 = nn.reshape %0 : tensor<?x8x4x4xf32, #nn.enc<[N]>> -> tensor<?x128xf32, #nn.enc<[N]>>
    %2 = nn.matmul %1, %w {transpose_rhs} : (tensor<?x128xf32, #nn.enc<[N]>>, tensor<10x128xf32>) -> tensor<?x10xf32, #nn.enc<[N]>>
    return %2 : tensor<?x10xf32, #nn.enc<[N]>>
  }

  // A weight K x N is permuted along its first dimension.
  // CHECK-LABEL: func.func @plain
  // CHECK-NOT: nn.reorder
  // CHECK: nn.transpose %{{.*}} {permutation = array<i64: 1, 2, 0, 3>} : tensor<8x4x4x10xf32> -> tensor<4x4x8x10xf32>
  func.func @plain(%x: tensor<?x8x4x4xf32, #cl>) -> tensor<?x10xf32, #nn.enc<[N]>> {
    %w = nn.get_parameter @fc.plain : tensor<128x10xf32>
    %0 = nn.reorder %x : tensor<?x8x4x4xf32, #cl> to tensor<?x8x4x4xf32, #nn.enc<[N]>>
    %1 = nn.reshape %0 : tensor<?x8x4x4xf32, #nn.enc<[N]>> -> tensor<?x128xf32, #nn.enc<[N]>>
    %2 = nn.matmul %1, %w : (tensor<?x128xf32, #nn.enc<[N]>>, tensor<128x10xf32>) -> tensor<?x10xf32, #nn.enc<[N]>>
    return %2 : tensor<?x10xf32, #nn.enc<[N]>>
  }

  // A computed weight cannot be permuted beforehand.
  // CHECK-LABEL: func.func @computed
  // CHECK: nn.reorder
  func.func @computed(%x: tensor<?x8x4x4xf32, #cl>, %w: tensor<10x128xf32>) -> tensor<?x10xf32, #nn.enc<[N]>> {
    %0 = nn.reorder %x : tensor<?x8x4x4xf32, #cl> to tensor<?x8x4x4xf32, #nn.enc<[N]>>
    %1 = nn.reshape %0 : tensor<?x8x4x4xf32, #nn.enc<[N]>> -> tensor<?x128xf32, #nn.enc<[N]>>
    %2 = nn.matmul %1, %w {transpose_rhs} : (tensor<?x128xf32, #nn.enc<[N]>>, tensor<10x128xf32>) -> tensor<?x10xf32, #nn.enc<[N]>>
    return %2 : tensor<?x10xf32, #nn.enc<[N]>>
  }
}
