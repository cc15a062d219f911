// Batch normalisation goes into the contraction before it, or becomes a multiplication and an addition.
// RUN: nncc-opt %s --fold-batch-norm | FileCheck %s

nn.parameter @conv.weight : tensor<16x8x3x3xf32>
nn.parameter @conv.bias : tensor<16xf32>
nn.parameter @fc.weight : tensor<16x8xf32>
nn.parameter @scale : tensor<16xf32>
nn.parameter @shift : tensor<16xf32>
nn.parameter @mean : tensor<16xf32>
nn.parameter @variance : tensor<16xf32>

// weight * factor and bias * factor + (shift - mean * factor), with factor = scale / sqrt(variance + epsilon).
// CHECK-LABEL: func.func @conv
// CHECK-DAG: %[[W:.*]] = nn.get_parameter @conv.weight
// CHECK-DAG: %[[B:.*]] = nn.get_parameter @conv.bias
// CHECK-DAG: %[[SCALE:.*]] = nn.get_parameter @scale
// CHECK-DAG: %[[SHIFT:.*]] = nn.get_parameter @shift
// CHECK-DAG: %[[MEAN:.*]] = nn.get_parameter @mean
// CHECK-DAG: %[[VAR:.*]] = nn.get_parameter @variance
// CHECK: %[[EPS:.*]] = nn.constant dense<1.000000e-03> : tensor<1xf32>
// CHECK: %[[SUM:.*]] = nn.add %[[VAR]], %[[EPS]]
// CHECK: %[[R:.*]] = nn.rsqrt %[[SUM]]
// CHECK: %[[F:.*]] = nn.mul %[[SCALE]], %[[R]]
// CHECK: %[[MF:.*]] = nn.mul %[[MEAN]], %[[F]]
// CHECK: %[[T:.*]] = nn.sub %[[SHIFT]], %[[MF]]
// CHECK: %[[F4:.*]] = nn.reshape %[[F]] : tensor<16xf32> -> tensor<16x1x1x1xf32>
// CHECK: %[[W2:.*]] = nn.mul %[[W]], %[[F4]]
// CHECK: %[[BF:.*]] = nn.mul %[[B]], %[[F]]
// CHECK: %[[B2:.*]] = nn.add %[[BF]], %[[T]]
// CHECK: %[[C:.*]] = nn.conv %{{.*}}, %[[W2]] bias %[[B2]]
// CHECK-NOT: batch_norm
// CHECK: return %[[C]]
func.func @conv(%x: tensor<1x8x8x8xf32>) -> tensor<1x16x6x6xf32> {
  %w = nn.get_parameter @conv.weight : tensor<16x8x3x3xf32>
  %b = nn.get_parameter @conv.bias : tensor<16xf32>
  %s = nn.get_parameter @scale : tensor<16xf32>
  %t = nn.get_parameter @shift : tensor<16xf32>
  %m = nn.get_parameter @mean : tensor<16xf32>
  %v = nn.get_parameter @variance : tensor<16xf32>
  %0 = nn.conv %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>,
                               pads_end = array<i64: 0, 0>, groups = 1 : i64}
    : (tensor<1x8x8x8xf32>, tensor<16x8x3x3xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  %1 = nn.batch_norm %0, %s, %t, %m, %v {epsilon = 1.0e-03}
    : (tensor<1x16x6x6xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  return %1 : tensor<1x16x6x6xf32>
}

// A linear layer without bias gets one; the factor goes along the rows of its weight.
// CHECK-LABEL: func.func @linear
// CHECK: %[[F:.*]] = nn.reshape %{{.*}} : tensor<16xf32> -> tensor<16x1xf32>
// CHECK: %[[W:.*]] = nn.mul %{{.*}}, %[[F]] : (tensor<16x8xf32>, tensor<16x1xf32>)
// CHECK: nn.matmul %{{.*}}, %[[W]] bias %{{.*}} {transpose_rhs}
// CHECK-NEXT: return
func.func @linear(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %w = nn.get_parameter @fc.weight : tensor<16x8xf32>
  %s = nn.get_parameter @scale : tensor<16xf32>
  %t = nn.get_parameter @shift : tensor<16xf32>
  %m = nn.get_parameter @mean : tensor<16xf32>
  %v = nn.get_parameter @variance : tensor<16xf32>
  %0 = nn.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = nn.batch_norm %0, %s, %t, %m, %v
    : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// The convolution has a second reader, so its result must stay: two per-channel operations remain.
// CHECK-LABEL: func.func @two_readers
// CHECK: %[[C:.*]] = nn.conv
// CHECK: %[[F:.*]] = nn.reshape %{{.*}} : tensor<16xf32> -> tensor<16x1x1xf32>
// CHECK: %[[P:.*]] = nn.mul %[[C]], %[[F]]
// CHECK: %[[T:.*]] = nn.reshape %{{.*}} : tensor<16xf32> -> tensor<16x1x1xf32>
// CHECK: %[[N:.*]] = nn.add %[[P]], %[[T]]
// CHECK: return %[[C]], %[[N]]
func.func @two_readers(%x: tensor<1x8x8x8xf32>) -> (tensor<1x16x6x6xf32>, tensor<1x16x6x6xf32>) {
  %w = nn.get_parameter @conv.weight : tensor<16x8x3x3xf32>
  %s = nn.get_parameter @scale : tensor<16xf32>
  %t = nn.get_parameter @shift : tensor<16xf32>
  %m = nn.get_parameter @mean : tensor<16xf32>
  %v = nn.get_parameter @variance : tensor<16xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>,
                       pads_end = array<i64: 0, 0>, groups = 1 : i64}
    : (tensor<1x8x8x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x6x6xf32>
  %1 = nn.batch_norm %0, %s, %t, %m, %v
    : (tensor<1x16x6x6xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  return %0, %1 : tensor<1x16x6x6xf32>, tensor<1x16x6x6xf32>
}

// Statistics of f16 tensors are combined in f32.
// CHECK-LABEL: func.func @half
// CHECK: nn.cast %{{.*}} {to = f32} : tensor<16xf16> -> tensor<16xf32>
// CHECK: nn.rsqrt %{{.*}} : tensor<16xf32>
// CHECK: nn.cast %{{.*}} {to = f16} : tensor<16xf32> -> tensor<16xf16>
// CHECK: nn.mul {{.*}} -> tensor<4x16xf16>
func.func @half(%x: tensor<4x16xf16>, %c: tensor<16xf16>) -> tensor<4x16xf16> {
  %0 = nn.batch_norm %x, %c, %c, %c, %c
    : (tensor<4x16xf16>, tensor<16xf16>, tensor<16xf16>, tensor<16xf16>, tensor<16xf16>) -> tensor<4x16xf16>
  return %0 : tensor<4x16xf16>
}

// A transposed convolution has its output channels in dimension 1 of the weight.
nn.parameter @up.weight : tensor<8x16x2x2xf32>
// CHECK-LABEL: func.func @conv_transpose
// CHECK: %[[W:.*]] = nn.get_parameter @up.weight
// CHECK: %[[F:.*]] = nn.reshape %{{.*}} : tensor<16xf32> -> tensor<16x1x1xf32>
// CHECK: %[[W2:.*]] = nn.mul %[[W]], %[[F]]
// CHECK: %[[Y:.*]] = nn.conv_transpose %{{.*}}, %[[W2]] bias
// CHECK-NEXT: return %[[Y]]
func.func @conv_transpose(%x: tensor<1x8x4x4xf32>) -> tensor<1x16x8x8xf32> {
  %w = nn.get_parameter @up.weight : tensor<8x16x2x2xf32>
  %s = nn.get_parameter @scale : tensor<16xf32>
  %b = nn.get_parameter @shift : tensor<16xf32>
  %m = nn.get_parameter @mean : tensor<16xf32>
  %v = nn.get_parameter @variance : tensor<16xf32>
  %0 = nn.conv_transpose %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x4x4xf32>, tensor<8x16x2x2xf32>) -> tensor<1x16x8x8xf32>
  %1 = nn.batch_norm %0, %s, %b, %m, %v : (tensor<1x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
  return %1 : tensor<1x16x8x8xf32>
}
