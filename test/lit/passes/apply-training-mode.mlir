// Batch statistics with their running means, and dropout.
// RUN: nncc-opt --apply-training-mode --split-input-file %s | FileCheck %s

module attributes {nn.dims = [], nn.train = {seed = 7 : i64}} {
  nn.parameter @mean : tensor<2xf32>
  nn.parameter @variance : tensor<2xf32>
  // CHECK: nn.state @train.seed : tensor<i64> {init = 7.000000e+00 : f64}
  // CHECK: nn.state @train.step : tensor<i64>

  // CHECK-LABEL: func.func @evaluate
  // CHECK: nn.dropout
  func.func @evaluate(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
    %y = nn.dropout %x {p = 0.25 : f64} : tensor<4x2xf32>
    return %y : tensor<4x2xf32>
  }
  // CHECK-LABEL: func.func @train_step
  // CHECK-SAME: %[[MEAN:arg[0-9]+]]: tensor<2xf32> {nn.state = "mean"}, %[[VARIANCE:arg[0-9]+]]: tensor<2xf32> {nn.state = "variance"}, %[[SEED:arg[0-9]+]]: tensor<i64> {nn.state = "train.seed"}, %[[STEP:arg[0-9]+]]: tensor<i64> {nn.state = "train.step"}
  // CHECK-SAME: tensor<2xf32> {nn.state = "mean"}, tensor<2xf32> {nn.state = "variance"}
  func.func @train_step(%x: tensor<4x2xf32>, %scale: tensor<2xf32>, %bias: tensor<2xf32>) -> tensor<4x2xf32> {
    %mean = nn.get_parameter @mean : tensor<2xf32>
    %variance = nn.get_parameter @variance : tensor<2xf32>
    // CHECK: %[[M:.*]] = nn.reduce_mean %arg0 {axes = array<i64: 0>}
    // CHECK: %[[C:.*]] = nn.sub %arg0, %[[M]]
    // CHECK: %[[S:.*]] = nn.square %[[C]]
    // CHECK: %[[V:.*]] = nn.reduce_mean %[[S]] {axes = array<i64: 0>}
    // CHECK: %[[D:.*]] = nn.sub %[[M]], %[[MEAN]]
    // CHECK: %[[P:.*]] = nn.mul %[[D]], %{{.*}}
    // CHECK: %[[NEXT:.*]] = nn.add %[[MEAN]], %[[P]]
    // CHECK: nn.batch_norm %arg0, %arg1, %arg2, %[[M]], %[[V]] {batch_statistics, momentum = 2.000000e-01 : f64}
    %0 = nn.batch_norm %x, %scale, %bias, %mean, %variance {momentum = 0.2 : f64} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    // CHECK: %[[I:.*]] = nn.iota : tensor<4x2xi64>
    // CHECK: %[[U:.*]] = nn.random_uniform %[[I]], %[[SEED]], %[[STEP]] {stream = 0 : i64}
    // CHECK: %[[K:.*]] = nn.greater_equal %[[U]], %{{.*}}
    // CHECK: %[[F:.*]] = nn.where %[[K]]
    // CHECK: %[[Y:.*]] = nn.mul %{{.*}}, %[[F]]
    // CHECK: return %[[Y]], %[[NEXT]], %{{.*}}
    %1 = nn.dropout %0 {p = 0.25 : f64} : tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
}

// -----

// Frozen statistics: the norm of inference, and nothing that changes.
module attributes {nn.dims = []} {
  nn.parameter @mean : tensor<2xf32>
  nn.parameter @variance : tensor<2xf32>
  // CHECK-LABEL: func.func @train_step
  // CHECK-NOT: nn.state
  func.func @train_step(%x: tensor<4x2xf32>, %scale: tensor<2xf32>, %bias: tensor<2xf32>) -> tensor<4x2xf32> {
    // CHECK: %[[M:.*]] = nn.get_parameter @mean : tensor<2xf32>
    // CHECK: %[[V:.*]] = nn.get_parameter @variance : tensor<2xf32>
    %mean = nn.get_parameter @mean {nn.frozen} : tensor<2xf32>
    %variance = nn.get_parameter @variance {nn.frozen} : tensor<2xf32>
    // CHECK: %[[Y:.*]] = nn.batch_norm %arg0, %arg1, %arg2, %[[M]], %[[V]] : (
    // CHECK: return %[[Y]] : tensor<4x2xf32>
    %0 = nn.batch_norm %x, %scale, %bias, %mean, %variance : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}
