// Which ops become narrow, what is converted where, and what keeps its type.
// RUN: nncc-opt --apply-mixed-precision --split-input-file --verify-diagnostics %s | FileCheck %s

module attributes {nn.dims = [], nn.train = {precision = bf16}} {
  // CHECK-LABEL: func.func @evaluate
  // CHECK: nn.matmul {{.*}} -> tensor<4x3xf32>
  func.func @evaluate(%x: tensor<4x8xf32>, %w: tensor<3x8xf32>) -> tensor<4x3xf32> {
    %y = nn.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
  // CHECK-LABEL: func.func @train_step
  // CHECK-SAME: -> (tensor<f32>, tensor<4x8xf32>, tensor<8x8xf32>)
  func.func @train_step(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>, %s: tensor<8xf32>)
      -> (tensor<f32>, tensor<4x8xf32>, tensor<8x8xf32>) {
    // One conversion of the weight for the products that read it.
    // CHECK-DAG: %[[B:.*]] = nn.cast %arg2 {to = bf16}
    // CHECK-DAG: %[[W:.*]] = nn.cast %arg1 {to = bf16}
    // CHECK-DAG: %[[X:.*]] = nn.cast %arg0 {to = bf16}
    // CHECK: %[[Y:.*]] = nn.matmul %[[X]], %[[W]] bias %[[B]] {transpose_rhs}
    %0 = nn.matmul %x, %w bias %b {transpose_rhs} : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    // A number adapts to the tensor beside it.
    // CHECK: %[[HALF:.*]] = nn.cast %{{.*}} {to = bf16} : tensor<1xf32> -> tensor<1xbf16>
    // CHECK: nn.mul %[[Y]], %[[HALF]] : (tensor<4x8xbf16>, tensor<1xbf16>) -> tensor<4x8xbf16>
    // CHECK: %[[R:.*]] = nn.relu %{{.*}} : tensor<4x8xbf16>
    %half = nn.constant dense<0.5> : tensor<1xf32>
    %1 = nn.mul %0, %half : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
    %2 = nn.relu %1 : tensor<4x8xf32>
    // A norm computes in f32, with f32 parameters, and gives what it got.
    // CHECK: %[[RW:.*]] = nn.cast %[[R]] {to = f32}
    // CHECK: %[[NW:.*]] = nn.layer_norm %[[RW]] scale %arg3 bias %arg2
    // CHECK: %[[N:.*]] = nn.cast %[[NW]] {to = bf16}
    // CHECK: %[[Z:.*]] = nn.matmul %[[N]], %[[W]]
    %3 = nn.layer_norm %2 scale %s bias %b {dims = 1 : i64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %4 = nn.matmul %3, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // The wider of two operands wins.
    // CHECK: %[[ZW:.*]] = nn.cast %[[Z]] {to = f32}
    // CHECK: %[[SUM:.*]] = nn.add %[[ZW]], %arg0
    %5 = nn.add %4, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    // A movement follows, a sum and a softmax are f32.
    // CHECK: %[[FLAT:.*]] = nn.reshape %[[Z]] : tensor<4x8xbf16> -> tensor<32xbf16>
    // CHECK: %[[FLATW:.*]] = nn.cast %[[FLAT]] {to = f32}
    // CHECK: nn.reduce_sum %[[FLATW]]
    // CHECK: nn.softmax %[[SUM]]
    %6 = nn.reshape %4 : tensor<4x8xf32> -> tensor<32xf32>
    %7 = nn.reduce_sum %6 {axes = array<i64: 0>} : tensor<32xf32> -> tensor<f32>
    %8 = nn.softmax %5 {axis = 1 : i64} : tensor<4x8xf32>
    %9 = nn.reduce_mean %8 {axes = array<i64: 0, 1>} : tensor<4x8xf32> -> tensor<f32>
    %10 = nn.add %7, %9 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // The gradient is that of the f32 parameter; the update stays f32, and so do the results.
    // CHECK: %[[G:.*]] = nn.gradient of(%[[LOSS:.*]]) by(%arg1)
    // CHECK: %[[NEXT:.*]] = nn.matmul %arg1, %[[G]] : (tensor<8x8xf32>
    // CHECK: return %[[LOSS]], %[[ZW]], %[[NEXT]]
    %g = nn.gradient of (%10) by (%w) : (tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %next = nn.matmul %w, %g : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %10, %4, %next : tensor<f32>, tensor<4x8xf32>, tensor<8x8xf32>
  }
}

// -----

// The loss itself is converted back, and integers and f64 are left alone.
module attributes {nn.dims = [], nn.train = {precision = f16}} {
  // CHECK-LABEL: func.func @train_step
  func.func @train_step(%x: tensor<4x8xf64>, %y: tensor<1x8xf32>, %i: tensor<4x8xi64>) -> (tensor<1x1xf32>, tensor<4x4xf64>, tensor<4x4xi64>) {
    // CHECK: nn.matmul {{.*}} -> tensor<4x4xf64>
    // CHECK: nn.matmul {{.*}} -> tensor<4x4xi64>
    %0 = nn.matmul %x, %x {transpose_rhs} : (tensor<4x8xf64>, tensor<4x8xf64>) -> tensor<4x4xf64>
    %1 = nn.matmul %i, %i {transpose_rhs} : (tensor<4x8xi64>, tensor<4x8xi64>) -> tensor<4x4xi64>
    // CHECK: %[[Y:.*]] = nn.matmul {{.*}} -> tensor<1x1xf16>
    // CHECK: %[[LOSS:.*]] = nn.cast %[[Y]] {to = f32}
    // CHECK: nn.gradient of(%[[LOSS]]) by(%arg1)
    // CHECK: return %[[LOSS]]
    %2 = nn.matmul %y, %y {transpose_rhs} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x1xf32>
    %g = nn.gradient of (%2) by (%y) : (tensor<1x1xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    return %2, %0, %1 : tensor<1x1xf32>, tensor<4x4xf64>, tensor<4x4xi64>
  }
}

// -----

module attributes {nn.dims = [], nn.train = {precision = f64}} {
  // expected-error@+1 {{precision: expected f32, bf16 or f16, found 'f64'}}
  func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
