// The whole recipe on LeNet: one kernel per convolution with bias, activation and pool, whose result has no buffer; no reorder in
// @infer, since the image has one channel and flatten is folded into the weight of the first linear layer.
// RUN: nncc-opt %s --nncc-cpu-pipeline="columns=64 lanes=16" | FileCheck %s

// CHECK-DAG: #[[LAST:[a-z_0-9]+]] = #nn.enc<[N], order = [0, 2, 3, 1]>

!image = tensor<?x1x28x28xf32, #nn.enc<[N]>>
module @LeNet attributes {nn.dims = [#nn.dim<"N", 1, 64>]} {
  nn.parameter @block1.conv.weight : tensor<16x1x3x3xf32>
  nn.parameter @block1.conv.bias : tensor<16xf32>
  nn.parameter @block2.conv.weight : tensor<32x16x3x3xf32>
  nn.parameter @block2.conv.bias : tensor<32xf32>
  nn.parameter @fc1.weight : tensor<64x1568xf32>
  nn.parameter @fc1.bias : tensor<64xf32>
  nn.parameter @fc2.weight : tensor<10x64xf32>
  nn.parameter @fc2.bias : tensor<10xf32>

  // CHECK-LABEL: func.func @prepare
  // CHECK-DAG: nn.constant = "block1.conv.weight.packed"
  // CHECK-DAG: nn.constant = "fc1.weight.packed"
  // CHECK: nn.kernel "transpose"

  // CHECK-LABEL: func.func @infer
  // CHECK-NOT: nn.kernel "{{.*}}reorder
  // CHECK: %[[A:.*]] = nn.kernel "conv2d_bias_relu_max_pool2d" {{.*}} -> tensor<?x16x14x14xf32, #[[LAST]]>
  // CHECK: %[[B:.*]] = nn.kernel "conv2d_bias_relu_max_pool2d" {{.*}} -> tensor<?x32x7x7xf32, #[[LAST]]>
  // CHECK: %[[T:.*]] = nn.transpose %[[B]]
  // CHECK-NEXT: %[[F:.*]] = nn.reshape %[[T]]
  // CHECK-NEXT: %[[C:.*]] = nn.kernel "matmul_bias_relu" (%{{.*}} = %[[F]] :
  // CHECK: nn.kernel "matmul_bias" (%{{.*}} = %[[C]] :
  // CHECK-NOT: nn.kernel
  func.func @infer(%image: !image {nn.name = "image"}) -> (tensor<?x10xf32, #nn.enc<[N]>> {nn.name = "logits"}) {
    %w1 = nn.get_parameter @block1.conv.weight : tensor<16x1x3x3xf32>
    %b1 = nn.get_parameter @block1.conv.bias : tensor<16xf32>
    %0 = nn.conv %image, %w1 bias %b1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>,
                                       pads_end = array<i64: 1, 1>, groups = 1 : i64}
      : (!image, tensor<16x1x3x3xf32>, tensor<16xf32>) -> tensor<?x16x28x28xf32, #nn.enc<[N]>>
    %1 = nn.relu %0 : tensor<?x16x28x28xf32, #nn.enc<[N]>>
    %2 = nn.max_pool %1 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                         pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
      : tensor<?x16x28x28xf32, #nn.enc<[N]>> -> tensor<?x16x14x14xf32, #nn.enc<[N]>>
    %w2 = nn.get_parameter @block2.conv.weight : tensor<32x16x3x3xf32>
    %b2 = nn.get_parameter @block2.conv.bias : tensor<32xf32>
    %3 = nn.conv %2, %w2 bias %b2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>,
                                   pads_end = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<?x16x14x14xf32, #nn.enc<[N]>>, tensor<32x16x3x3xf32>, tensor<32xf32>) -> tensor<?x32x14x14xf32, #nn.enc<[N]>>
    %4 = nn.relu %3 : tensor<?x32x14x14xf32, #nn.enc<[N]>>
    %5 = nn.max_pool %4 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                         pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
      : tensor<?x32x14x14xf32, #nn.enc<[N]>> -> tensor<?x32x7x7xf32, #nn.enc<[N]>>
    %6 = nn.reshape %5 : tensor<?x32x7x7xf32, #nn.enc<[N]>> -> tensor<?x1568xf32, #nn.enc<[N]>>
    %w3 = nn.get_parameter @fc1.weight : tensor<64x1568xf32>
    %b3 = nn.get_parameter @fc1.bias : tensor<64xf32>
    %7 = nn.matmul %6, %w3 bias %b3 {transpose_rhs}
      : (tensor<?x1568xf32, #nn.enc<[N]>>, tensor<64x1568xf32>, tensor<64xf32>) -> tensor<?x64xf32, #nn.enc<[N]>>
    %8 = nn.relu %7 : tensor<?x64xf32, #nn.enc<[N]>>
    %w4 = nn.get_parameter @fc2.weight : tensor<10x64xf32>
    %b4 = nn.get_parameter @fc2.bias : tensor<10xf32>
    %9 = nn.matmul %8, %w4 bias %b4 {transpose_rhs}
      : (tensor<?x64xf32, #nn.enc<[N]>>, tensor<10x64xf32>, tensor<10xf32>) -> tensor<?x10xf32, #nn.enc<[N]>>
    return %9 : tensor<?x10xf32, #nn.enc<[N]>>
  }
}
