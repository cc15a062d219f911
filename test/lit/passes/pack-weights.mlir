// Weights that depend on parameters only are reordered to panels; a weight that is computed by the model stays.
// RUN: nncc-opt %s --pack-weights="columns=64 lanes=16" | FileCheck %s
// RUN: nncc-opt %s --pack-weights="columns=16 lanes=8" | FileCheck %s --check-prefix=NARROW
// RUN: not nncc-opt %s --pack-weights="columns=20 lanes=8" 2>&1 | FileCheck %s --check-prefix=ODD

// NARROW-DAG: #[[CONV:[a-z_0-9]+]] = #nn.enc<[], pack = <[0, 1, 96], [0, 6, 16], [2, 3, 1], [3, 3, 1], [1, 4, 1], [0, 16, 1]>>
// NARROW-DAG: #[[DEPTHWISE:[a-z_0-9]+]] = #nn.enc<[], pack = <[2, 3, 1], [3, 3, 1], [0, 24, 1]>>
// CHECK-DAG: #[[DEPTHWISE:[a-z_0-9]+]] = #nn.enc<[], pack = <[2, 3, 1], [3, 3, 1], [0, 32, 1]>>
// CHECK-DAG: #[[LINEAR:[a-z_0-9]+]] = #nn.enc<[], pack = <[0, 1, 16], [1, 32, 1], [0, 16, 1]>>
// CHECK-DAG: #[[TURNED:[a-z_0-9]+]] = #nn.enc<[], order = [1, 0]>
// CHECK-DAG: #[[CONV:[a-z_0-9]+]] = #nn.enc<[], pack = <[0, 1, 96], [0, 2, 48], [2, 3, 1], [3, 3, 1], [1, 4, 1], [0, 48, 1]>>

// ODD: error: pack-weights: columns must be a positive multiple of lanes, found columns = 20, lanes = 8

nn.parameter @conv.weight : tensor<96x4x3x3xf32>
nn.parameter @depthwise.weight : tensor<20x1x3x3xf32>
nn.parameter @fc.weight : tensor<10x32xf32>

// 96 outputs are two panels of 48, not 64 and a half-empty one: loops are outputs, kernel rows, kernel columns, inputs, columns.
// CHECK-LABEL: func.func @conv
// CHECK: %[[W:.*]] = nn.get_parameter @conv.weight
// CHECK-NEXT: %[[P:.*]] = nn.reorder %[[W]] : tensor<96x4x3x3xf32> to tensor<96x4x3x3xf32, #[[CONV]]>
// CHECK-NEXT: nn.conv %{{.*}}, %[[P]]
// NARROW-LABEL: func.func @conv
// NARROW: nn.reorder {{.*}} to tensor<96x4x3x3xf32, #[[CONV]]>
func.func @conv(%x: tensor<1x4x8x8xf32>) -> tensor<1x96x6x6xf32> {
  %w = nn.get_parameter @conv.weight : tensor<96x4x3x3xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>,
                       pads_end = array<i64: 0, 0>, groups = 1 : i64}
    : (tensor<1x4x8x8xf32>, tensor<96x4x3x3xf32>) -> tensor<1x96x6x6xf32>
  return %0 : tensor<1x96x6x6xf32>
}

// A depthwise weight has its channels innermost, padded to the lanes.
// CHECK-LABEL: func.func @depthwise
// CHECK: nn.reorder {{.*}} to tensor<20x1x3x3xf32, #[[DEPTHWISE]]>
// NARROW-LABEL: func.func @depthwise
// NARROW: nn.reorder {{.*}} to tensor<20x1x3x3xf32, #[[DEPTHWISE]]>
func.func @depthwise(%x: tensor<1x20x8x8xf32>) -> tensor<1x20x6x6xf32> {
  %w = nn.get_parameter @depthwise.weight : tensor<20x1x3x3xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>,
                       pads_end = array<i64: 0, 0>, groups = 20 : i64}
    : (tensor<1x20x8x8xf32>, tensor<20x1x3x3xf32>) -> tensor<1x20x6x6xf32>
  return %0 : tensor<1x20x6x6xf32>
}

// Both products read the weight N x K, and share one packed form.
// CHECK-LABEL: func.func @linear
// CHECK: %[[W:.*]] = nn.get_parameter @fc.weight
// CHECK-NEXT: %[[P:.*]] = nn.reorder %[[W]] : {{.*}} to tensor<10x32xf32, #[[LINEAR]]>
// CHECK-NEXT: nn.matmul %{{.*}}, %[[P]]
// CHECK-NEXT: nn.matmul %{{.*}}, %[[P]]
func.func @linear(%x: tensor<4x32xf32>, %y: tensor<8x32xf32>) -> (tensor<4x10xf32>, tensor<8x10xf32>) {
  %w = nn.get_parameter @fc.weight : tensor<10x32xf32>
  %0 = nn.matmul %x, %w {transpose_rhs} : (tensor<4x32xf32>, tensor<10x32xf32>) -> tensor<4x10xf32>
  %1 = nn.matmul %y, %w {transpose_rhs} : (tensor<8x32xf32>, tensor<10x32xf32>) -> tensor<8x10xf32>
  return %0, %1 : tensor<4x10xf32>, tensor<8x10xf32>
}

// CHECK-LABEL: func.func @scores
// CHECK-NOT: nn.reorder
// CHECK: return
func.func @scores(%q: tensor<4x32xf32>, %k: tensor<6x32xf32>) -> tensor<4x6xf32> {
  %0 = nn.matmul %q, %k {transpose_rhs} : (tensor<4x32xf32>, tensor<6x32xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// The hidden weight of a recurrence lies with its contracted index outermost.
// CHECK-LABEL: func.func @recurrence
// CHECK: %[[W:.*]] = nn.get_parameter @rnn.weight_hh
// CHECK-NEXT: %[[T:.*]] = nn.reorder %[[W]] : tensor<64x16xf32> to tensor<64x16xf32, #[[TURNED]]>
// CHECK-NEXT: nn.recurrence %{{.*}}, %[[T]] lstm
nn.parameter @rnn.weight_hh : tensor<64x16xf32>
func.func @recurrence(%p: tensor<2x5x64xf32>) -> tensor<2x5x16xf32> {
  %w = nn.get_parameter @rnn.weight_hh : tensor<64x16xf32>
  %y, %h, %c = nn.recurrence %p, %w lstm : (tensor<2x5x64xf32>, tensor<64x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
  return %y : tensor<2x5x16xf32>
}

// A convolution's weight that is computed in the run is reordered in the run: its kernel reads panels only.
// CHECK-LABEL: func.func @computed_weight
// CHECK-SAME: (%[[X:.*]]: tensor<1x16x8x8xf32>, %[[W:.*]]: tensor<32x16x3x3xf32>)
// CHECK: %[[P:.*]] = nn.reorder %[[W]]
// CHECK: nn.conv %[[X]], %[[P]]
func.func @computed_weight(%x: tensor<1x16x8x8xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<1x32x6x6xf32> {
  %y = nn.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x6x6xf32>
  return %y : tensor<1x32x6x6xf32>
}
