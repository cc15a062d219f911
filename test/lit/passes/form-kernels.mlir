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

// -----

// The heads of an attention are cut out of one projection: slices, reshapes and transposes change no element's place in memory,
// so the kernel reads q, k and v where they lie and writes its result in the order of the tokens.
// CHECK-LABEL: func.func @attention_heads
// CHECK-SAME: (%[[P:.*]]: tensor<?x32x192xf32
// CHECK-NEXT: %[[K:.*]] = nn.kernel "attention_transpose" (%[[A:.*]] = %[[P]] : {{[^,]*}}, #nn.enc<[N]>>) -> tensor<?x32x4x16xf32
// CHECK-NEXT: nn.slice %[[A]] {{.*}}starts = array<i64: 0, 0, 0>
// CHECK-NEXT: nn.slice %[[A]] {{.*}}starts = array<i64: 0, 0, 64>
// CHECK-NEXT: nn.slice %[[A]] {{.*}}starts = array<i64: 0, 0, 128>
// CHECK-COUNT-3: nn.reshape
// CHECK-COUNT-3: nn.transpose
// CHECK-NEXT: %[[Y:.*]] = nn.attention
// CHECK-NEXT: %[[T:.*]] = nn.transpose %[[Y]]
// CHECK-NEXT: nn.yield %[[T]]
// CHECK: %[[R:.*]] = nn.reshape %[[K]]
// CHECK-NEXT: return %[[R]]
#n = #nn.enc<[N]>
func.func @attention_heads(%p: tensor<?x32x192xf32, #n>) -> tensor<?x32x64xf32, #n> {
  %q = nn.slice %p {starts = array<i64: 0, 0, 0>, sizes = array<i64: -1, -1, 64>, steps = array<i64: 1, 1, 1>} : tensor<?x32x192xf32, #n> -> tensor<?x32x64xf32, #n>
  %k = nn.slice %p {starts = array<i64: 0, 0, 64>, sizes = array<i64: -1, -1, 64>, steps = array<i64: 1, 1, 1>} : tensor<?x32x192xf32, #n> -> tensor<?x32x64xf32, #n>
  %v = nn.slice %p {starts = array<i64: 0, 0, 128>, sizes = array<i64: -1, -1, 64>, steps = array<i64: 1, 1, 1>} : tensor<?x32x192xf32, #n> -> tensor<?x32x64xf32, #n>
  %q4 = nn.reshape %q : tensor<?x32x64xf32, #n> -> tensor<?x32x4x16xf32, #n>
  %k4 = nn.reshape %k : tensor<?x32x64xf32, #n> -> tensor<?x32x4x16xf32, #n>
  %v4 = nn.reshape %v : tensor<?x32x64xf32, #n> -> tensor<?x32x4x16xf32, #n>
  %qh = nn.transpose %q4 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x32x4x16xf32, #n> -> tensor<?x4x32x16xf32, #n>
  %kh = nn.transpose %k4 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x32x4x16xf32, #n> -> tensor<?x4x32x16xf32, #n>
  %vh = nn.transpose %v4 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x32x4x16xf32, #n> -> tensor<?x4x32x16xf32, #n>
  %y = nn.attention %qh, %kh, %vh : (tensor<?x4x32x16xf32, #n>, tensor<?x4x32x16xf32, #n>, tensor<?x4x32x16xf32, #n>) -> tensor<?x4x32x16xf32, #n>
  %t = nn.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x4x32x16xf32, #n> -> tensor<?x32x4x16xf32, #n>
  %r = nn.reshape %t : tensor<?x32x4x16xf32, #n> -> tensor<?x32x64xf32, #n>
  return %r : tensor<?x32x64xf32, #n>
}

// -----

// A product reads rows at any distance, but the elements of a row must be side by side; its right operand is packed by the kernel,
// from anywhere. The result goes to where the transpose puts it.
// CHECK-LABEL: func.func @matmul_operands
// CHECK-COUNT-2: nn.kernel
// CHECK-NOT: nn.kernel
// CHECK: return
func.func @matmul_operands(%x: tensor<2x8x64xf32>, %y: tensor<2x8x64xf32>) -> tensor<2x8x4x8xf32> {
  %xh = nn.reshape %x : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %yh = nn.reshape %y : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %q = nn.transpose %xh {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %k = nn.transpose %yh {permutation = array<i64: 0, 2, 3, 1>} : tensor<2x8x4x16xf32> -> tensor<2x4x16x8xf32>
  %s = nn.matmul %q, %k : (tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x8x8xf32>
  %v = nn.transpose %s {permutation = array<i64: 0, 1, 3, 2>} : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xf32>
  %o = nn.matmul %s, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %t = nn.transpose %o {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x4x8x8xf32> -> tensor<2x8x4x8xf32>
  return %t : tensor<2x8x4x8xf32>
}

// -----

// The rows of a transposed left operand are columns in memory: the transpose is carried out. So is a movement that is returned.
// CHECK-LABEL: func.func @carried_out
// CHECK: nn.kernel "transpose"
// CHECK: nn.kernel "matmul"
// CHECK: nn.kernel "slice"
func.func @carried_out(%x: tensor<8x4xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x2xf32>) {
  %t = nn.transpose %x {permutation = array<i64: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
  %y = nn.matmul %t, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = nn.slice %x {starts = array<i64: 0, 1>, sizes = array<i64: -1, 2>, steps = array<i64: 1, 1>} : tensor<8x4xf32> -> tensor<8x2xf32>
  return %y, %s : tensor<4x8xf32>, tensor<8x2xf32>
}

// -----

// A slice of the outermost dimension is a run of the operand's memory: a view, as long as it is not returned.
// CHECK-LABEL: func.func @contiguous_slice
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>)
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[X]]
// CHECK-NEXT: %[[Y:.*]] = nn.kernel "softmax" (%{{.*}} = %[[S]]
// CHECK: %[[C:.*]] = nn.kernel "copy" (%{{.*}} = %[[S]]
// CHECK: return %[[Y]], %[[C]]
func.func @contiguous_slice(%x: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %s = nn.slice %x {starts = array<i64: 3, 0>, sizes = array<i64: 2, -1>, steps = array<i64: 1, 1>} : tensor<8x4xf32> -> tensor<2x4xf32>
  %y = nn.softmax %s {axis = 1} : tensor<2x4xf32>
  return %y, %s : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// A number stays in the code of an elementwise kernel; a table, or what a product reads, is written into a buffer by a kernel.
// CHECK-LABEL: func.func @constants
// CHECK-DAG: nn.kernel "constant" () -> tensor<2xf32>
// CHECK-DAG: nn.kernel "constant" () -> tensor<2x2xf32>
// CHECK: nn.kernel "add_mul" (
// CHECK-DAG: nn.constant dense<3.000000e+00>
// CHECK: nn.kernel "matmul" (
func.func @constants(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %t = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = nn.constant dense<3.0> : tensor<1xf32>
  %m = nn.constant dense<0.5> : tensor<2x2xf32>
  %0 = nn.add %x, %t : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = nn.mul %0, %s : (tensor<4x2xf32>, tensor<1xf32>) -> tensor<4x2xf32>
  %2 = nn.matmul %1, %m : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// Movements of more than six dimensions, whose lists do not fit into the space of small ones.
// CHECK-LABEL: func.func @seven_dims
// CHECK: nn.kernel "transpose"
func.func @seven_dims(%x: tensor<3x2x3x3xf32>) -> tensor<2x3x3x3xf32> {
  %0 = nn.reshape %x : tensor<3x2x3x3xf32> -> tensor<1x3x2x1x3x1x3xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 0, 3, 5, 2, 1, 4, 6>} : tensor<1x3x2x1x3x1x3xf32> -> tensor<1x1x1x2x3x3x3xf32>
  %2 = nn.reshape %1 : tensor<1x1x1x2x3x3x3xf32> -> tensor<2x3x3x3xf32>
  return %2 : tensor<2x3x3x3xf32>
}
