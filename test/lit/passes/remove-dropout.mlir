// Inference passes every element through: dropout leaves nothing behind, wherever it stands.
// RUN: nncc-opt %s --remove-dropout | FileCheck %s

// CHECK-LABEL: func.func @between
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[R:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = nn.gelu %[[X]]
// CHECK-NEXT: %[[Z:.*]] = nn.add %[[R]], %[[Y]]
// CHECK-NEXT: return %[[Z]]
func.func @between(%x: tensor<4x8xf32>, %r: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.gelu %x : tensor<4x8xf32>
  %1 = nn.dropout %0 {p = 0.1} : tensor<4x8xf32>
  %2 = nn.add %r, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nn.dropout %2 {p = 0.5} : tensor<4x8xf32>
  %4 = nn.dropout %3 {p = 0.5} : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @of_an_input
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: return %[[X]]
func.func @of_an_input(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.dropout %x {p = 1.0} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
