// Kernels write their results into slices of the concatenation; only what cannot be written there is copied.
// RUN: nncc-opt %s --form-kernels --place-concats --split-input-file | FileCheck %s

// Two convolutions fill one tensor: the second completes in place what the first left. A kernel that reads one part besides reads
// a slice.
// CHECK-LABEL: func.func @branches
// CHECK: %[[A:.*]] = nn.kernel "conv2d" ({{.*}}) -> tensor<?x40x4x4xf32
// CHECK:   nn.insert %{{.*}} {axis = 1 : i64, offset = 0 : i64} : (tensor<?x16x4x4xf32
// CHECK: %[[B:.*]] = nn.kernel "conv2d_relu" ({{.*}}, %[[D:.*]] = %[[A]] : {{.*}}) -> tensor<?x40x4x4xf32{{.*}} attributes {in_place = 2 : i64} {
// CHECK:   %[[R:.*]] = nn.relu
// CHECK:   nn.insert %[[R]] into %[[D]] {axis = 1 : i64, offset = 16 : i64}
// CHECK: %[[P:.*]] = nn.kernel "max_pool2d" (%[[X:.*]] = %[[A]] :
// CHECK-NEXT: nn.slice %[[X]] {sizes = array<i64: -1, 16, -1, -1>, starts = array<i64: 0, 0, 0, 0>
// CHECK-NOT: nn.concat
// CHECK: return %[[B]], %[[P]]
#cl = #nn.enc<[N], order = [0, 2, 3, 1]>
func.func @branches(%x: tensor<?x8x4x4xf32, #cl>, %u: tensor<16x8x1x1xf32>, %v: tensor<24x8x1x1xf32>) -> (tensor<?x40x4x4xf32, #cl>, tensor<?x16x2x2xf32, #cl>) {
  %0 = nn.conv %x, %u {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64}
    : (tensor<?x8x4x4xf32, #cl>, tensor<16x8x1x1xf32>) -> tensor<?x16x4x4xf32, #cl>
  %1 = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64}
    : (tensor<?x8x4x4xf32, #cl>, tensor<24x8x1x1xf32>) -> tensor<?x24x4x4xf32, #cl>
  %2 = nn.relu %1 : tensor<?x24x4x4xf32, #cl>
  %3 = nn.concat %0, %2 {axis = 1 : i64} : (tensor<?x16x4x4xf32, #cl>, tensor<?x24x4x4xf32, #cl>) -> tensor<?x40x4x4xf32, #cl>
  %4 = nn.max_pool %0 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
    : tensor<?x16x4x4xf32, #cl> -> tensor<?x16x2x2xf32, #cl>
  return %3, %4 : tensor<?x40x4x4xf32, #cl>, tensor<?x16x2x2xf32, #cl>
}

// -----

// A concatenation that another one takes up lies within it; what reads the smaller one reads a slice of the larger.
// CHECK-LABEL: func.func @nested
// CHECK: %[[A:.*]] = nn.kernel "softmax" ({{.*}}) -> tensor<4x24xf32> {
// CHECK:   nn.insert %{{.*}} {axis = 1 : i64, offset = 0 : i64}
// CHECK: %[[B:.*]] = nn.kernel "layer_norm" ({{.*}} = %[[A]] : tensor<4x24xf32>) -> tensor<4x24xf32> attributes {in_place = 1 : i64} {
// CHECK:   nn.insert %{{.*}} into %{{.*}} {axis = 1 : i64, offset = 8 : i64}
// CHECK: %[[C:.*]] = nn.kernel "matmul" (%[[L:.*]] = %[[B]] : tensor<4x24xf32>, {{.*}}, %[[D:.*]] = %[[B]] : tensor<4x24xf32>) -> tensor<4x24xf32> attributes {in_place = 2 : i64} {
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[L]] {sizes = array<i64: -1, 16>, starts = array<i64: 0, 0>
// CHECK-NEXT: %[[M:.*]] = nn.matmul %[[S]]
// CHECK-NEXT: nn.insert %[[M]] into %[[D]] {axis = 1 : i64, offset = 16 : i64}
// CHECK-NOT: nn.kernel
// CHECK: return %[[C]]
func.func @nested(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x24xf32> {
  %a = nn.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %b = nn.layer_norm %x {dims = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %ab = nn.concat %a, %b {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %c = nn.matmul %ab, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %all = nn.concat %ab, %c {axis = 1 : i64} : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<4x24xf32>
  return %all : tensor<4x24xf32>
}

// -----

// Copied: an input, a part that is returned by itself, and one that is concatenated twice.
// CHECK-LABEL: func.func @copies
// CHECK: %[[S:.*]] = nn.kernel "softmax" ({{.*}}) -> tensor<4x8xf32>
// CHECK: %[[N:.*]] = nn.kernel "layer_norm" ({{.*}}) -> tensor<4x40xf32> {
// CHECK:   nn.insert %{{.*}} {axis = 1 : i64, offset = 16 : i64}
// CHECK: nn.kernel "copy" ({{.*}} = %[[N]] : {{.*}}attributes {in_place = 1 : i64}
// CHECK:   nn.insert {{.*}}offset = 0 : i64}
// CHECK: nn.kernel "copy" (%{{.*}} = %[[S]]
// CHECK:   nn.insert {{.*}}offset = 8 : i64}
func.func @copies(%x: tensor<4x8xf32>) -> (tensor<4x40xf32>, tensor<4x8xf32>) {
  %a = nn.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %b = nn.layer_norm %x {dims = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = nn.rms_norm %x {dims = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = nn.concat %x, %a, %b, %c, %c {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x40xf32>
  return %d, %a : tensor<4x40xf32>, tensor<4x8xf32>
}

// -----

// Nothing to place: what is computed on demand anyway is computed into the result.
// CHECK-LABEL: func.func @on_demand
// CHECK: nn.kernel "relu_concat"
// CHECK-NOT: nn.insert
func.func @on_demand(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %0 = nn.relu %x : tensor<4x8xf32>
  %1 = nn.concat %0, %y {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// Rows of different batch entries would not be equally far apart: the product with a packed weight takes all of them as one
// matrix, so its result is copied.
// CHECK-LABEL: func.func @uneven_rows
// CHECK: nn.kernel "matmul" ({{.*}}) -> tensor<2x4x8xf32>
// CHECK: nn.kernel "softmax" ({{.*}}) -> tensor<2x8x8xf32>
// CHECK: nn.kernel "copy"
#packed = #nn.enc<[], pack = <[1, 1, 8], [0, 8, 1], [1, 8, 1]>>
func.func @uneven_rows(%x: tensor<2x4x8xf32>, %w: tensor<8x8xf32, #packed>) -> tensor<2x8x8xf32> {
  %0 = nn.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x8xf32, #packed>) -> tensor<2x4x8xf32>
  %1 = nn.softmax %x {axis = 2 : i64} : tensor<2x4x8xf32>
  %2 = nn.concat %0, %1 {axis = 1 : i64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
  return %2 : tensor<2x8x8xf32>
}

// Gradients of parameters are concatenated as vectors: a product writes its matrix there, row by row. What somebody else reads as well
// is copied.
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[A:.*]] = nn.kernel "matmul" {{.*}} -> tensor<8x16xf32> {
// CHECK: %[[V:.*]] = nn.kernel "matmul" {{.*}} -> tensor<320xf32> {
// CHECK-NEXT: %[[P:.*]] = nn.matmul
// CHECK-NEXT: %[[F:.*]] = nn.reshape %[[P]] : tensor<12x16xf32> -> tensor<192xf32>
// CHECK-NEXT: nn.insert %[[F]] {axis = 0 : i64, offset = 128 : i64}
// CHECK: nn.kernel "copy" {{.*}} -> tensor<320xf32> attributes {in_place = 1 : i64}
// CHECK-NOT: nn.concat
func.func @reshaped(%x: tensor<8x16xf32>, %y: tensor<12x16xf32>, %w: tensor<16x16xf32>) -> (tensor<320xf32>, tensor<8x16xf32>) {
  %0 = nn.kernel "matmul" (%a = %x : tensor<8x16xf32>, %b = %w : tensor<16x16xf32>) -> tensor<8x16xf32> {
    %r = nn.matmul %a, %b : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    nn.yield %r : tensor<8x16xf32>
  }
  %1 = nn.kernel "matmul" (%a = %y : tensor<12x16xf32>, %b = %w : tensor<16x16xf32>) -> tensor<12x16xf32> {
    %r = nn.matmul %a, %b : (tensor<12x16xf32>, tensor<16x16xf32>) -> tensor<12x16xf32>
    nn.yield %r : tensor<12x16xf32>
  }
  %2 = nn.reshape %0 : tensor<8x16xf32> -> tensor<128xf32>
  %3 = nn.reshape %1 : tensor<12x16xf32> -> tensor<192xf32>
  %4 = nn.kernel "concat" (%a = %2 : tensor<128xf32>, %b = %3 : tensor<192xf32>) -> tensor<320xf32> {
    %r = nn.concat %a, %b {axis = 0} : (tensor<128xf32>, tensor<192xf32>) -> tensor<320xf32>
    nn.yield %r : tensor<320xf32>
  }
  return %4, %0 : tensor<320xf32>, tensor<8x16xf32>
}
