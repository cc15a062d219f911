// A model gets a gradient for each floating-point output as a further input, and gives those of its floating-point inputs and
// parameters. A parameter that is read twice has one gradient.
// RUN: nncc-opt %s --add-gradients | FileCheck %s

nn.parameter @w : tensor<8xf32>

// CHECK-LABEL: func.func @infer
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32> {nn.name = "x"}, %[[I:.*]]: tensor<4xi64> {nn.name = "ids"}, %[[DY:.*]]: tensor<4x8xf32> {nn.name = "grad.y"})
// CHECK-SAME: -> (tensor<4x8xf32> {nn.name = "y"}, tensor<4xi64> {nn.name = "n"}, tensor<4x8xf32> {nn.name = "grad.x"}, tensor<8xf32> {nn.name = "grad.w"})
// CHECK: %[[W:.*]] = nn.get_parameter @w
// CHECK-NOT: nn.get_parameter
// CHECK: %[[Y:.*]] = nn.mul
// CHECK: %[[G:.*]]:2 = nn.gradient of(%[[Y]]) seeds(%[[DY]]) by(%[[X]], %[[W]])
// CHECK: return %[[Y]], %[[I]], %[[G]]#0, %[[G]]#1
func.func @infer(%x: tensor<4x8xf32> {nn.name = "x"}, %ids: tensor<4xi64> {nn.name = "ids"})
    -> (tensor<4x8xf32> {nn.name = "y"}, tensor<4xi64> {nn.name = "n"}) {
  %w = nn.get_parameter @w : tensor<8xf32>
  %0 = nn.add %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %v = nn.get_parameter @w : tensor<8xf32>
  %1 = nn.mul %0, %v : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %1, %ids : tensor<4x8xf32>, tensor<4xi64>
}
