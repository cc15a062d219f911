// @train_step from @evaluate: parameters in one state, gradients side by side, the optimizer's formula, a frozen parameter.
// RUN: nncc-opt --build-train-step --split-input-file %s | FileCheck %s

module attributes {nn.dims = [], nn.train = {freeze = ["frozen.*"], optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.9 : f64,
                   nesterov = false, no_decay = [], weight_decay = 0.0 : f64}}} {
  nn.parameter @a : tensor<3xf32>
  nn.parameter @b : tensor<2x16xf32>
  nn.parameter @frozen.c : tensor<3xf32>
  // The one that is whole cache lines comes first.
  // CHECK: nn.state @train.parameters : tensor<35xf32> {parts = [@b, @a]}
  // CHECK: nn.state @train.lr : tensor<f64> {init = 5.000000e-01 : f64}
  // CHECK: nn.state @train.momentum_buffer : tensor<35xf32> {like = @train.parameters}
  // CHECK: nn.state @train.step : tensor<i64>

  // CHECK-LABEL: func.func @evaluate
  // CHECK-NOT: nn.state
  func.func @evaluate(%x: tensor<3xf32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "loss"}) {
    %a = nn.get_parameter @a : tensor<3xf32>
    %b = nn.get_parameter @b : tensor<2x16xf32>
    %c = nn.get_parameter @frozen.c : tensor<3xf32>
    %0 = nn.mul %x, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %1 = nn.mul %0, %c : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %2 = nn.reduce_sum %1 {axes = array<i64: 0>} : tensor<3xf32> -> tensor<f32>
    %3 = nn.reduce_sum %b {axes = array<i64: 0, 1>} : tensor<2x16xf32> -> tensor<f32>
    %4 = nn.add %2, %3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
  // CHECK-LABEL: func.func @train_step(%arg0: tensor<3xf32> {nn.name = "x"}, %arg1: tensor<35xf32> {nn.state = "train.parameters"}
  // CHECK-SAME: -> (tensor<f32> {nn.name = "loss"}, tensor<35xf32> {nn.state = "train.momentum_buffer"}, tensor<35xf32> {nn.state = "train.parameters"}, tensor<i64> {nn.state = "train.step"})
  // CHECK: %[[A:.*]] = nn.slice %arg1 {sizes = array<i64: 3>, starts = array<i64: 32>
  // CHECK: %[[B:.*]] = nn.slice %arg1 {sizes = array<i64: 32>, starts = array<i64: 0>
  // CHECK: %[[BB:.*]] = nn.reshape %[[B]] : tensor<32xf32> -> tensor<2x16xf32>
  // CHECK: nn.get_parameter @frozen.c
  // CHECK: %[[G:.*]]:2 = nn.gradient of(%[[LOSS:.*]]) by(%[[BB]], %[[A]]) : (tensor<f32>, tensor<2x16xf32>, tensor<3xf32>)
  // CHECK: %[[FLAT:.*]] = nn.concat %{{.*}}, %[[G]]#1 {axis = 0 : i64} : (tensor<32xf32>, tensor<3xf32>) -> tensor<35xf32>
  // CHECK: %[[KEPT:.*]] = nn.mul %{{.*}}, %{{.*}} : (tensor<35xf32>, tensor<f32>) -> tensor<35xf32>
  // CHECK: %[[MOMENTUM:.*]] = nn.add %[[KEPT]], %[[FLAT]]
  // CHECK: %[[CHANGE:.*]] = nn.mul %[[MOMENTUM]], %{{.*}} : (tensor<35xf32>, tensor<f32>)
  // CHECK: %[[NEXT:.*]] = nn.sub %arg1, %[[CHANGE]]
  // CHECK: return %[[LOSS]], %[[MOMENTUM]], %[[NEXT]], %{{.*}} : tensor<f32>, tensor<35xf32>, tensor<35xf32>, tensor<i64>
}

// -----

// In f16 the way back begins with the loss scale. Where a gradient is not finite the scale shrinks and everything else stays.
module attributes {nn.dims = [], nn.train = {precision = f16, loss_scale = {kind = "dynamic", init = 8.0 : f64, growth = 4.0 : f64, backoff = 0.25 : f64, interval = 5 : i64},
                   optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.0 : f64, nesterov = false, no_decay = [], weight_decay = 0.0 : f64}}} {
  nn.parameter @a : tensor<32xf32>
  // CHECK: nn.state @train.loss_scale : tensor<f32> {init = 8.000000e+00 : f64}
  // CHECK-LABEL: func.func @train_step
  // CHECK-SAME: %[[SCALE:arg[0-9]+]]: tensor<f32> {nn.state = "train.loss_scale"}, %[[SKIPPED:arg[0-9]+]]: tensor<i64> {nn.state = "train.skipped"}, %[[GOOD:arg[0-9]+]]: tensor<i64> {nn.state = "train.growth_tracker"}
  func.func @evaluate(%x: tensor<32xf32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "loss"}) {
    %a = nn.get_parameter @a : tensor<32xf32>
    %0 = nn.mul %x, %a : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %1 = nn.reduce_sum %0 {axes = array<i64: 0>} : tensor<32xf32> -> tensor<f32>
    return %1 : tensor<f32>
  }
  // CHECK: %[[FLAT:.*]] = nn.gradient of(%[[LOSS:.*]]) seeds(%[[SCALE]]) by(%{{.*}})
  // CHECK: %[[ABS:.*]] = nn.abs %[[FLAT]]
  // CHECK: %[[TOP:.*]] = nn.reduce_max %[[ABS]] {axes = array<i64: 0>}
  // CHECK: %[[FINITE:.*]] = nn.less_equal %[[TOP]], %{{.*}}
  // CHECK: %[[INVERSE64:.*]] = nn.reciprocal %{{.*}} : tensor<f64>
  // CHECK: %[[INVERSE:.*]] = nn.cast %[[INVERSE64]] {to = f32}
  // CHECK: %[[TRUE:.*]] = nn.mul %[[FLAT]], %[[INVERSE]]
  // CHECK: %[[SKIPPED1:.*]] = nn.add %[[SKIPPED]],
  // CHECK: %[[GROWN:.*]] = nn.mul %[[SCALE]],
  // CHECK: %[[SHRUNK:.*]] = nn.mul %[[SCALE]],
  // CHECK: %[[LEAST:.*]] = nn.max %[[SHRUNK]],
  // CHECK: %[[NEXT:.*]] = nn.where %[[FINITE]], %{{.*}}, %[[LEAST]]
  // CHECK: %[[GOOD1:.*]] = nn.where %[[FINITE]], %{{.*}}, %{{.*}} : (tensor<i1>, tensor<i64>, tensor<i64>)
  // CHECK: %[[CHANGE:.*]] = nn.mul %[[TRUE]],
  // CHECK: %[[MOVED:.*]] = nn.sub %arg1, %[[CHANGE]]
  // CHECK: %[[PARAMETERS:.*]] = nn.where %[[FINITE]], %[[MOVED]], %arg1
  // CHECK: %[[STEP:.*]] = nn.where %[[FINITE]], %{{.*}}, %{{.*}} : (tensor<i1>, tensor<i64>, tensor<i64>)
  // CHECK: return %[[LOSS]], %[[SKIPPED1]], %[[NEXT]], %[[GOOD1]], %[[PARAMETERS]], %[[STEP]]
}
