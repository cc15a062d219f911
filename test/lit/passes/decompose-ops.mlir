// Recurrent layers become one product for all steps and the recurrence; a transposed left operand becomes a transpose.
// RUN: nncc-opt %s --decompose-ops | FileCheck %s
// RUN: nncc-opt %s --decompose-ops=multiplies-transposed | FileCheck %s --check-prefix=CPU
// RUN: nncc-opt %s --decompose-ops="multiplies-transposed multiplies-transposed-halves" | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: func.func @rnn
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[WI:.*]]: tensor<16x8xf32>, %[[WH:.*]]: tensor<16x16xf32>, %[[B:.*]]: tensor<16xf32>)
// CHECK: %[[SUM:.*]] = nn.add %[[B]], %[[B]]
// CHECK: %[[P:.*]] = nn.matmul %[[X]], %[[WI]] bias %[[SUM]] {transpose_rhs} : {{.*}} -> tensor<2x5x16xf32>
// CHECK: %[[Y:.*]], %[[H:.*]] = nn.recurrence %[[P]], %[[WH]] rnn_relu {reverse} : (tensor<2x5x16xf32>, tensor<16x16xf32>)
// CHECK: return %[[Y]], %[[H]]
func.func @rnn(%x: tensor<2x5x8xf32>, %wi: tensor<16x8xf32>, %wh: tensor<16x16xf32>, %b: tensor<16xf32>)
    -> (tensor<2x5x16xf32>, tensor<2x16xf32>) {
  %y, %h = nn.rnn %x, %wi, %wh bias_ih %b bias_hh %b {activation = #nn<rnn_activation relu>, reverse}
    : (tensor<2x5x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return %y, %h : tensor<2x5x16xf32>, tensor<2x16xf32>
}

// CHECK-LABEL: func.func @lstm
// CHECK: %[[P:.*]] = nn.matmul %{{.*}}, %{{.*}} {transpose_rhs} : {{.*}} -> tensor<2x5x64xf32>
// CHECK: %{{.*}}, %{{.*}}, %[[C:.*]] = nn.recurrence %[[P]], %{{.*}} h0 %{{.*}} c0 %{{.*}} lstm :
// CHECK: return %[[C]]
func.func @lstm(%x: tensor<2x5x8xf32>, %wi: tensor<64x8xf32>, %wh: tensor<64x16xf32>, %s: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %y, %h, %c = nn.lstm %x, %wi, %wh h0 %s c0 %s
    : (tensor<2x5x8xf32>, tensor<64x8xf32>, tensor<64x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
      -> (tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
  return %c : tensor<2x16xf32>
}

// The reset gate multiplies the hidden bias, so that bias stays with the step.
// CHECK-LABEL: func.func @gru
// CHECK-SAME: %[[BI:[a-z0-9]+]]: tensor<48xf32>, %[[BH:[a-z0-9]+]]: tensor<48xf32>)
// CHECK: nn.matmul %{{.*}}, %{{.*}} bias %[[BI]] {transpose_rhs}
// CHECK: nn.recurrence %{{.*}}, %{{.*}} bias_hh %[[BH]] gru :
func.func @gru(%x: tensor<2x5x8xf32>, %wi: tensor<48x8xf32>, %wh: tensor<48x16xf32>, %bi: tensor<48xf32>, %bh: tensor<48xf32>) -> tensor<2x16xf32> {
  %y, %h = nn.gru %x, %wi, %wh bias_ih %bi bias_hh %bh
    : (tensor<2x5x8xf32>, tensor<48x8xf32>, tensor<48x16xf32>, tensor<48xf32>, tensor<48xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return %h : tensor<2x16xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK: %[[T:.*]] = nn.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>} : tensor<2x8x4xf32> -> tensor<2x4x8xf32>
// CHECK: nn.matmul %[[T]], %{{.*}} : (tensor<2x4x8xf32>, tensor<8x3xf32>) -> tensor<2x4x3xf32>
func.func @transposed(%x: tensor<2x8x4xf32>, %w: tensor<8x3xf32>) -> tensor<2x4x3xf32> {
  %0 = nn.matmul %x, %w {transpose_lhs} : (tensor<2x8x4xf32>, tensor<8x3xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// The gradient of a weight is a product for each position of its kernel.
// CHECK-LABEL: func.func @conv_weight_gradient
// CHECK: nn.pad
// CHECK-COUNT-4: nn.matmul
// CHECK: nn.concat
// CHECK-NOT: nn.conv_weight_gradient
// CPU-LABEL: func.func @conv_weight_gradient
// CPU-NEXT: nn.conv_weight_gradient
func.func @conv_weight_gradient(%x: tensor<2x3x8x8xf32>, %g: tensor<2x16x9x9xf32>) -> tensor<16x3x2x2xf32> {
  %dw = nn.conv_weight_gradient %x, %g {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<2x16x9x9xf32>) -> tensor<16x3x2x2xf32>
  return %dw : tensor<16x3x2x2xf32>
}

// That of f16 has a kernel on CUDA alone.
// CPU-LABEL: func.func @conv_weight_gradient_of_halves
// CPU: nn.matmul
// CUDA-LABEL: func.func @conv_weight_gradient_of_halves
// CUDA-NEXT: nn.conv_weight_gradient
func.func @conv_weight_gradient_of_halves(%x: tensor<2x3x8x8xf16>, %g: tensor<2x16x8x8xf16>) -> tensor<16x3x1x1xf16> {
  %dw = nn.conv_weight_gradient %x, %g {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf16>, tensor<2x16x8x8xf16>) -> tensor<16x3x1x1xf16>
  return %dw : tensor<16x3x1x1xf16>
}

// The CPU reads both operands down their columns, where each matrix has its own partner.
// CHECK-LABEL: func.func @column_by_column
// CHECK: nn.transpose
// CPU-LABEL: func.func @column_by_column
// CPU-NEXT: nn.matmul %{{.*}}, %{{.*}} {transpose_lhs}
// CPU-LABEL: func.func @shared_right
// CPU: nn.transpose
func.func @column_by_column(%x: tensor<2x8x4xf32>, %w: tensor<2x8x3xf32>) -> tensor<2x4x3xf32> {
  %0 = nn.matmul %x, %w {transpose_lhs} : (tensor<2x8x4xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}
func.func @shared_right(%x: tensor<2x8x4xf32>, %w: tensor<8x3xf32>) -> tensor<2x4x3xf32> {
  %0 = nn.matmul %x, %w {transpose_lhs} : (tensor<2x8x4xf32>, tensor<8x3xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}
