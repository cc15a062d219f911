// What is fused into one kernel, and what is not.
// RUN: nncc-opt %s --form-kernels --split-input-file | FileCheck %s

// A convolution takes bias, residual, activation and a pool without overlap; its result has no buffer.
// CHECK-LABEL: func.func @conv_tail
// CHECK-SAME: (%[[X:.*]]: tensor<{{.*}}>, %[[W:.*]]: tensor<16x16x3x3xf32>, %[[B:.*]]: tensor<16xf32>, %[[R:.*]]: tensor<{{.*}}>)
// CHECK-NEXT: %[[K:.*]] = nn.kernel "conv2d_bias_add_relu_max_pool2d" (%{{.*}} = %[[X]] : {{.*}}, %{{.*}} = %[[W]] : {{.*}}, %{{.*}} = %[[B]] : {{.*}}, %{{.*}} = %[[R]] : {{.*}}) -> tensor<1x16x4x4xf32
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.max_pool
// CHECK-NEXT: nn.yield
// CHECK: return %[[K]]
#cl = #nn.enc<[], order = [0, 2, 3, 1]>
func.func @conv_tail(%x: tensor<1x16x8x8xf32, #cl>, %w: tensor<16x16x3x3xf32>, %b: tensor<16xf32>,
                     %r: tensor<1x16x8x8xf32, #cl>) -> tensor<1x16x4x4xf32, #cl> {
  %0 = nn.conv %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>,
                               pads_end = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x16x8x8xf32, #cl>, tensor<16x16x3x3xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32, #cl>
  %1 = nn.add %0, %r : (tensor<1x16x8x8xf32, #cl>, tensor<1x16x8x8xf32, #cl>) -> tensor<1x16x8x8xf32, #cl>
  %2 = nn.relu %1 : tensor<1x16x8x8xf32, #cl>
  %3 = nn.max_pool %2 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                       pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
    : tensor<1x16x8x8xf32, #cl> -> tensor<1x16x4x4xf32, #cl>
  return %3 : tensor<1x16x4x4xf32, #cl>
}

// -----

// A residual in another memory order cannot be indexed by the convolution's tile: the sum is a kernel of its own.
// CHECK-LABEL: func.func @other_order
// CHECK: nn.kernel "conv2d" (
// CHECK: nn.kernel "add" (
#cl = #nn.enc<[], order = [0, 2, 3, 1]>
func.func @other_order(%x: tensor<1x16x8x8xf32, #cl>, %w: tensor<16x16x1x1xf32>, %r: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32, #cl> {
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>,
                       pads_end = array<i64: 0, 0>, groups = 1 : i64}
    : (tensor<1x16x8x8xf32, #cl>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32, #cl>
  %1 = nn.add %0, %r : (tensor<1x16x8x8xf32, #cl>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32, #cl>
  return %1 : tensor<1x16x8x8xf32, #cl>
}

// -----

// Windows of 3 with stride 2 overlap: fused, border rows would be computed twice.
// CHECK-LABEL: func.func @overlapping_pool
// CHECK: nn.kernel "conv2d_relu" (
// CHECK: nn.kernel "max_pool2d" (
#cl = #nn.enc<[], order = [0, 2, 3, 1]>
func.func @overlapping_pool(%x: tensor<1x16x9x9xf32, #cl>, %w: tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32, #cl> {
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>,
                       pads_end = array<i64: 0, 0>, groups = 1 : i64}
    : (tensor<1x16x9x9xf32, #cl>, tensor<16x16x1x1xf32>) -> tensor<1x16x9x9xf32, #cl>
  %1 = nn.relu %0 : tensor<1x16x9x9xf32, #cl>
  %2 = nn.max_pool %1 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                       pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
    : tensor<1x16x9x9xf32, #cl> -> tensor<1x16x4x4xf32, #cl>
  return %2 : tensor<1x16x4x4xf32, #cl>
}

// -----

// A product that two ops read is written to memory; the elementwise ops behind it form a chain with one kernel.
// CHECK-LABEL: func.func @two_readers
// CHECK: %[[M:.*]] = nn.kernel "matmul_bias" (
// CHECK: %[[C:.*]] = nn.kernel "relu_add" (%{{.*}} = %[[M]] : tensor<4x8xf32>)
// CHECK: return %[[C]]
func.func @two_readers(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = nn.matmul %x, %w bias %b : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.relu %0 : tensor<4x8xf32>
  %2 = nn.add %1, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// The sum of two products finishes the later one. A constant of one value is part of the code.
// CHECK-LABEL: func.func @two_products
// CHECK: %[[A:.*]] = nn.kernel "matmul" (
// CHECK: nn.kernel "matmul_add_add" (%{{.*}} = %{{.*}} : tensor<4x16xf32>, %{{.*}} = %{{.*}} : tensor<16x8xf32>, %{{.*}} = %[[A]] : tensor<4x8xf32>)
// CHECK-NEXT: nn.constant dense<1.000000e+00>
func.func @two_products(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %c = nn.constant dense<1.0> : tensor<1xf32>
  %0 = nn.matmul %x, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = nn.matmul %x, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %2 = nn.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nn.add %2, %c : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// A reorder of one channel moves nothing and stays outside; one of two channels is a kernel.
// CHECK-LABEL: func.func @reorders
// CHECK: %[[V:.*]] = nn.reorder %{{.*}} : tensor<2x1x4x4xf32> to
// CHECK: nn.kernel "relu" (%{{.*}} = %[[V]] :
// CHECK: nn.kernel "reorder" (
#cl = #nn.enc<[], order = [0, 2, 3, 1]>
func.func @reorders(%x: tensor<2x1x4x4xf32>, %y: tensor<2x2x4x4xf32>) -> (tensor<2x1x4x4xf32, #cl>, tensor<2x2x4x4xf32, #cl>) {
  %0 = nn.reorder %x : tensor<2x1x4x4xf32> to tensor<2x1x4x4xf32, #cl>
  %1 = nn.relu %0 : tensor<2x1x4x4xf32, #cl>
  %2 = nn.reorder %y : tensor<2x2x4x4xf32> to tensor<2x2x4x4xf32, #cl>
  return %1, %2 : tensor<2x1x4x4xf32, #cl>, tensor<2x2x4x4xf32, #cl>
}

// -----

// An output that no kernel writes, or that is returned twice, is copied.
// CHECK-LABEL: func.func @copies
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[R:.*]] = nn.kernel "relu" (
// CHECK: %[[C:.*]] = nn.kernel "copy" (%{{.*}} = %[[R]] : tensor<4xf32>)
// CHECK: %[[D:.*]] = nn.kernel "copy" (%{{.*}} = %[[X]] : tensor<4xf32>)
// CHECK: return %[[R]], %[[C]], %[[D]]
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.relu %x : tensor<4xf32>
  return %0, %0, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Movements and elementwise ops compute on demand in one kernel; an expanded producer would be computed once per copy, so it is
// a kernel of its own.
// CHECK-LABEL: func.func @on_demand
// CHECK: nn.kernel "relu_slice_tanh" (
// CHECK: %[[E:.*]] = nn.kernel "exp" (
// CHECK: nn.kernel "expand" (%{{.*}} = %[[E]] :
func.func @on_demand(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4x2xf32>, tensor<4x8xf32>) {
  %0 = nn.relu %x : tensor<4x8xf32>
  %1 = nn.slice %0 {starts = array<i64: 0, 2>, sizes = array<i64: -1, 2>, steps = array<i64: 1, 1>} : tensor<4x8xf32> -> tensor<4x2xf32>
  %2 = nn.tanh %1 : tensor<4x2xf32>
  %3 = nn.exp %y : tensor<8xf32>
  %4 = nn.expand %3 : tensor<8xf32> -> tensor<4x8xf32>
  return %2, %4 : tensor<4x2xf32>, tensor<4x8xf32>
}

// -----

// A reduction takes elementwise ops before and after it, a norm only after: it reads its operand more than once.
// CHECK-LABEL: func.func @reductions
// CHECK: nn.kernel "exp_reduce_sum_log" (
// CHECK: nn.kernel "relu" (
// CHECK: nn.kernel "layer_norm_neg" (
func.func @reductions(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %0 = nn.exp %x : tensor<4x8xf32>
  %1 = nn.reduce_sum %0 {axes = array<i64: 1>} : tensor<4x8xf32> -> tensor<4xf32>
  %2 = nn.log %1 : tensor<4xf32>
  %3 = nn.relu %x : tensor<4x8xf32>
  %4 = nn.layer_norm %3 {dims = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = nn.neg %4 : tensor<4x8xf32>
  return %2, %5 : tensor<4xf32>, tensor<4x8xf32>
}

// -----

// Flatten and a transpose of dimensions that are one move nothing.
// CHECK-LABEL: func.func @views
// CHECK-NOT: nn.kernel
// CHECK: nn.reshape
// CHECK: nn.transpose
// CHECK: nn.kernel "relu"
func.func @views(%x: tensor<4x2x3xf32>) -> tensor<1x4x6xf32> {
  %0 = nn.reshape %x : tensor<4x2x3xf32> -> tensor<4x1x6xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 1, 0, 2>} : tensor<4x1x6xf32> -> tensor<1x4x6xf32>
  %2 = nn.relu %1 : tensor<1x4x6xf32>
  return %2 : tensor<1x4x6xf32>
}
