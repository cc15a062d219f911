// A transposed convolution is a convolution whose output channels hold the positions that lie between those of the input.
// RUN: nncc-opt %s --lower-conv-transpose | FileCheck %s

// Stride 1: the mirrored kernel, and pads of what the kernel reaches beyond them.
// CHECK-LABEL: func.func @mirrored
// CHECK: %[[M:.*]] = nn.slice %{{.*}} {sizes = array<i64: -1, -1, -1, -1>, starts = array<i64: 0, 0, -1, -1>, steps = array<i64: 1, 1, -1, -1>}
// CHECK: nn.transpose %[[M]] {permutation = array<i64: 1, 0, 2, 3>}
// CHECK: nn.conv {{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x16x8x8xf32>, tensor<4x16x3x3xf32>) -> tensor<2x4x8x8xf32>
// CHECK-NEXT: return
func.func @mirrored(%x: tensor<2x16x8x8xf32>, %w: tensor<16x4x3x3xf32>) -> tensor<2x4x8x8xf32> {
  %y = nn.conv_transpose %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x16x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  return %y : tensor<2x4x8x8xf32>
}

// Kernel 2, stride 2: a matrix product, four positions each, moved into place.
// CHECK-LABEL: func.func @doubled
// CHECK: %[[Y:.*]] = nn.conv {{.*}} bias %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x16x8x8xf32, #nn.enc<[N]>>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<?x16x8x8xf32, #nn.enc<[N]>>
// CHECK: %[[L:.*]] = nn.transpose %[[Y]] {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: %[[S:.*]] = nn.reshape %[[L]] : {{.*}} -> tensor<?x8x8x1x2x2x4xf32
// CHECK: %[[T:.*]] = nn.transpose %[[S]] {permutation = array<i64: 0, 1, 4, 2, 5, 3, 6>}
// CHECK: %[[R:.*]] = nn.reshape %[[T]] : {{.*}} -> tensor<?x16x16x4xf32
// CHECK: nn.transpose %[[R]] {permutation = array<i64: 0, 3, 1, 2>} : {{.*}} -> tensor<?x4x16x16xf32
func.func @doubled(%x: tensor<?x16x8x8xf32, #nn.enc<[N]>>, %w: tensor<16x4x2x2xf32>, %b: tensor<4xf32>) -> tensor<?x4x16x16xf32, #nn.enc<[N]>> {
  %y = nn.conv_transpose %x, %w bias %b {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<?x16x8x8xf32, #nn.enc<[N]>>, tensor<16x4x2x2xf32>, tensor<4xf32>) -> tensor<?x4x16x16xf32, #nn.enc<[N]>>
  return %y : tensor<?x4x16x16xf32, #nn.enc<[N]>>
}

// The data gradient of a convolution with a stride says which one that was.
// CHECK-LABEL: func.func @strided_gradient
// CHECK: nn.conv {{.*}}nn.transposed = {kernel = array<i64: 3, 3>, pads = array<i64: 1, 1>, strides = array<i64: 2, 2>}{{.*}} -> tensor<2x16x8x8xf32>
func.func @strided_gradient(%x: tensor<2x16x8x8xf32>, %w: tensor<16x4x3x3xf32>) -> tensor<2x4x16x16xf32> {
  %y = nn.conv_transpose %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x16x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<2x4x16x16xf32>
  return %y : tensor<2x4x16x16xf32>
}

// Strides with dilations stay.
// CHECK-LABEL: func.func @both
// CHECK: nn.conv_transpose
func.func @both(%x: tensor<2x16x8xf32>, %w: tensor<16x4x3xf32>) -> tensor<2x4x19xf32> {
  %y = nn.conv_transpose %x, %w {dilations = array<i64: 2>, groups = 1 : i64, output_padding = array<i64: 0>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, strides = array<i64: 2>} : (tensor<2x16x8xf32>, tensor<16x4x3xf32>) -> tensor<2x4x19xf32>
  return %y : tensor<2x4x19xf32>
}

// An activation that alone reads the result goes with the convolution.
// CHECK-LABEL: func.func @activation
// CHECK: %[[Y:.*]] = nn.conv
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[Y]]
// CHECK-NEXT: nn.transpose %[[R]]
// CHECK-NOT: nn.relu
func.func @activation(%x: tensor<2x16x8xf32>, %w: tensor<16x4x2xf32>) -> tensor<2x4x16xf32> {
  %y = nn.conv_transpose %x, %w {dilations = array<i64: 1>, groups = 1 : i64, output_padding = array<i64: 0>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, strides = array<i64: 2>} : (tensor<2x16x8xf32>, tensor<16x4x2xf32>) -> tensor<2x4x16xf32>
  %z = nn.relu %y : tensor<2x4x16xf32>
  return %z : tensor<2x4x16xf32>
}

// A kernel narrower than the stride reads nothing for every other position: those are zeros, not products.
// CHECK-LABEL: func.func @sparse
// CHECK: nn.conv {{.*}} -> tensor<2x4x8x8xf32>
// CHECK: nn.pad {{.*}}begin = array<i64: 0, 0, 0, 0, 0, 0, 0>, end = array<i64: 0, 0, 0, 0, 1, 1, 0>
// CHECK: nn.slice {{.*}} -> tensor<2x4x15x15xf32>
func.func @sparse(%x: tensor<2x16x8x8xf32>, %w: tensor<16x4x1x1xf32>) -> tensor<2x4x15x15xf32> {
  %y = nn.conv_transpose %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<2x16x8x8xf32>, tensor<16x4x1x1xf32>) -> tensor<2x4x15x15xf32>
  return %y : tensor<2x4x15x15xf32>
}
