// Reverse accumulation: each op on the way passes its gradient on, parts of one value are summed, and what leads nowhere is left out.
// RUN: nncc-opt %s --expand-gradients | FileCheck %s

// The gradient of a broadcast operand is summed over what it was repeated along.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>, %[[G:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = nn.add %[[X]], %[[B]]
// CHECK-NEXT: %[[Z:.*]] = nn.relu %[[Y]]
// The derivative of relu follows from its result.
// CHECK-NEXT: %[[DZ:.*]] = nn.derivative %[[Z]], %[[G]] {of = "relu"
// CHECK-NEXT: %[[DB:.*]] = nn.reduce_sum %[[DZ]] {axes = array<i64: 0>}
// CHECK-NEXT: return %[[DZ]], %[[DB]]
func.func @broadcast(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %g: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %y = nn.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %z = nn.relu %y : tensor<4x8xf32>
  %dx, %db = nn.gradient of (%z) seeds (%g) by (%x, %b) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return %dx, %db : tensor<4x8xf32>, tensor<8xf32>
}

// x is read by two ops: their parts are summed once, and exp's result serves its gradient.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[G:.*]]: tensor<8xf32>)
// CHECK: %[[E:.*]] = nn.exp %[[X]]
// CHECK: %[[FROM_MUL:.*]] = nn.mul %[[G]], %[[E]]
// CHECK: %[[INNER:.*]] = nn.mul %[[G]], %[[X]]
// CHECK: nn.mul %[[INNER]], %[[E]]
// CHECK: %[[SUM:.*]] = nn.add
// CHECK-NOT: nn.add
// CHECK: return %[[SUM]]
func.func @shared(%x: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<8xf32> {
  %e = nn.exp %x : tensor<8xf32>
  %y = nn.mul %x, %e : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %dx = nn.gradient of (%y) seeds (%g) by (%x) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %dx : tensor<8xf32>
}

// A frozen weight costs nothing: only the bias is asked for, so no product is computed backwards.
// CHECK-LABEL: func.func @frozen
// CHECK: nn.matmul
// CHECK-NOT: nn.matmul
// CHECK: nn.reduce_sum
// CHECK: return
func.func @frozen(%x: tensor<4x8xf32>, %w: tensor<3x8xf32>, %b: tensor<3xf32>, %g: tensor<4x3xf32>) -> tensor<3xf32> {
  %y = nn.matmul %x, %w bias %b {transpose_rhs} : (tensor<4x8xf32>, tensor<3x8xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %db = nn.gradient of (%y) seeds (%g) by (%b) : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %db : tensor<3xf32>
}

// A value that the loss does not depend on has the gradient zero.
// CHECK-LABEL: func.func @independent
// CHECK: %[[ZERO:.*]] = nn.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK: %[[ALL:.*]] = nn.expand %[[ZERO]]
// CHECK: return %[[ALL]]
func.func @independent(%x: tensor<8xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %s = nn.reduce_sum %x {axes = array<i64: 0>} : tensor<8xf32> -> tensor<f32>
  %dy = nn.gradient of (%s) by (%y) : (tensor<f32>, tensor<5xf32>) -> tensor<5xf32>
  return %dy : tensor<5xf32>
}

// Steps are flat: nothing passes them.
// CHECK-LABEL: func.func @flat
// CHECK: nn.constant dense<0.000000e+00>
func.func @flat(%x: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<8xf32> {
  %y = nn.floor %x : tensor<8xf32>
  %dx = nn.gradient of (%y) seeds (%g) by (%x) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %dx : tensor<8xf32>
}
