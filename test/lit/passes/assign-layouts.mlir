// Channels-last around convolutions and pools, with reorders at the borders only.
// RUN: nncc-opt %s --assign-layouts | FileCheck %s

// CHECK-DAG: #[[LAST_N:[a-z_0-9]+]] = #nn.enc<[N], order = [0, 2, 3, 1]>
// CHECK-DAG: #[[LAST:[a-z_0-9]+]] = #nn.enc<[], order = [0, 2, 3, 1]>

module attributes {nn.dims = [#nn.dim<"N", 1, 64>]} {
  // The image has one channel, so the convolution reads it as it comes; what follows is channels-last up to the output.
  // CHECK-LABEL: func.func @stem
  // CHECK-SAME: (%[[X:.*]]: tensor<?x1x8x8xf32, #nn.enc<[N]>>,
  // CHECK-NEXT: %[[C:.*]] = nn.conv %[[X]], {{.*}} -> tensor<?x16x8x8xf32, #[[LAST_N]]>
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[C]] : tensor<?x16x8x8xf32, #[[LAST_N]]>
  // CHECK-NEXT: %[[P:.*]] = nn.max_pool %[[R]] {{.*}} -> tensor<?x16x4x4xf32, #[[LAST_N]]>
  // CHECK-NEXT: %[[O:.*]] = nn.reorder %[[P]] : tensor<?x16x4x4xf32, #[[LAST_N]]> to tensor<?x16x4x4xf32, #nn.enc<[N]>>
  // CHECK-NEXT: return %[[O]]
  func.func @stem(%x: tensor<?x1x8x8xf32, #nn.enc<[N]>>, %w: tensor<16x1x3x3xf32>) -> tensor<?x16x4x4xf32, #nn.enc<[N]>> {
    %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>,
                         pads_end = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<?x1x8x8xf32, #nn.enc<[N]>>, tensor<16x1x3x3xf32>) -> tensor<?x16x8x8xf32, #nn.enc<[N]>>
    %1 = nn.relu %0 : tensor<?x16x8x8xf32, #nn.enc<[N]>>
    %2 = nn.max_pool %1 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                         pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
      : tensor<?x16x8x8xf32, #nn.enc<[N]>> -> tensor<?x16x4x4xf32, #nn.enc<[N]>>
    return %2 : tensor<?x16x4x4xf32, #nn.enc<[N]>>
  }

  // Sixteen channels are read channels-last: one reorder of the input serves the convolution and the residual. The
  // per-channel operand is read as it is.
  // CHECK-LABEL: func.func @residual
  // CHECK-SAME: (%[[X:.*]]: tensor<2x16x8x8xf32>, %{{.*}}: tensor<16x16x1x1xf32>, %[[S:.*]]: tensor<16x1x1xf32>)
  // CHECK-NEXT: %[[R:.*]] = nn.reorder %[[X]]
  // CHECK-NEXT: %[[C:.*]] = nn.conv %[[R]],
  // CHECK-NEXT: %[[A:.*]] = nn.add %[[C]], %[[S]] : (tensor<2x16x8x8xf32, #[[LAST]]>, tensor<16x1x1xf32>)
  // CHECK-NEXT: %[[B:.*]] = nn.add %[[A]], %[[R]]
  // CHECK-NEXT: %[[O:.*]] = nn.reorder %[[B]]
  // CHECK-NEXT: return %[[O]]
  func.func @residual(%x: tensor<2x16x8x8xf32>, %w: tensor<16x16x1x1xf32>, %s: tensor<16x1x1xf32>) -> tensor<2x16x8x8xf32> {
    %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>,
                         pads_end = array<i64: 0, 0>, groups = 1 : i64}
      : (tensor<2x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<2x16x8x8xf32>
    %1 = nn.add %0, %s : (tensor<2x16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<2x16x8x8xf32>
    %2 = nn.add %1, %x : (tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32>
    return %2 : tensor<2x16x8x8xf32>
  }

  // Nothing asks for channels-last here.
  // CHECK-LABEL: func.func @no_image
  // CHECK-NOT: nn.reorder
  // CHECK: return
  func.func @no_image(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
    %0 = nn.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %1 = nn.relu %0 : tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }

  // Concatenation and padding keep the order of what they read; a reduction reads it, and what it leaves is row-major.
  // CHECK-LABEL: func.func @following
  // CHECK: %[[P:.*]] = nn.max_pool %{{.*}} -> tensor<2x16x4x4xf32, #[[LAST]]>
  // CHECK: %[[C:.*]] = nn.concat %[[P]], %[[P]] {{.*}} -> tensor<2x32x4x4xf32, #[[LAST]]>
  // CHECK: %[[Q:.*]] = nn.pad %[[C]] constant {{.*}} -> tensor<2x32x6x4xf32, #[[LAST]]>
  // CHECK: %[[M:.*]] = nn.reduce_mean %[[Q]] {{.*}} -> tensor<2x32xf32>
  // CHECK: return %[[M]]
  func.func @following(%x: tensor<2x16x8x8xf32>) -> tensor<2x32xf32> {
    %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                         pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
      : tensor<2x16x8x8xf32> -> tensor<2x16x4x4xf32>
    %1 = nn.concat %0, %0 {axis = 1 : i64} : (tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>) -> tensor<2x32x4x4xf32>
    %2 = nn.pad %1 constant {begin = array<i64: 0, 0, 1, 0>, end = array<i64: 0, 0, 1, 0>} : tensor<2x32x4x4xf32> -> tensor<2x32x6x4xf32>
    %3 = nn.reduce_mean %2 {axes = array<i64: 2, 3>} : tensor<2x32x6x4xf32> -> tensor<2x32xf32>
    return %3 : tensor<2x32xf32>
  }

  // The gradient of a weight reads what the convolution read, as it read it, and is a weight.
  // CHECK-LABEL: func.func @weight_gradient
  // CHECK-SAME: (%[[X:.*]]: tensor<2x3x8x8xf32>, %[[G:.*]]: tensor<2x16x8x8xf32>)
  // CHECK: %[[L:.*]] = nn.reorder %[[G]] : tensor<2x16x8x8xf32> to tensor<2x16x8x8xf32, #[[LAST]]>
  // CHECK: nn.conv_weight_gradient %[[X]], %[[L]] {{.*}} -> tensor<16x3x3x3xf32>
  func.func @weight_gradient(%x: tensor<2x3x8x8xf32>, %g: tensor<2x16x8x8xf32>) -> tensor<16x3x3x3xf32> {
    %dw = nn.conv_weight_gradient %x, %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>,
                                          pads_end = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x3x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<16x3x3x3xf32>
    return %dw : tensor<16x3x3x3xf32>
  }

  // Transposes between channels-last images and matrices with the channels last only change names.
  // CHECK-LABEL: func.func @renamed
  // CHECK: %[[P:.*]] = nn.max_pool
  // CHECK-NEXT: %[[M:.*]] = nn.transpose %[[P]] {permutation = array<i64: 0, 2, 3, 1>} : tensor<2x16x4x4xf32, #[[LAST]]> -> tensor<2x4x4x16xf32>
  // CHECK-NEXT: nn.transpose %[[M]] {permutation = array<i64: 0, 3, 1, 2>} : tensor<2x4x4x16xf32> -> tensor<2x16x4x4xf32, #[[LAST]]>
  func.func @renamed(%x: tensor<2x16x8x8xf32>) -> tensor<2x16x4x4xf32> {
    %p = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                         pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<2x16x8x8xf32> -> tensor<2x16x4x4xf32>
    %m = nn.transpose %p {permutation = array<i64: 0, 2, 3, 1>} : tensor<2x16x4x4xf32> -> tensor<2x4x4x16xf32>
    %r = nn.transpose %m {permutation = array<i64: 0, 3, 1, 2>} : tensor<2x4x4x16xf32> -> tensor<2x16x4x4xf32>
    return %r : tensor<2x16x4x4xf32>
  }
}
