// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{reorder_c1: operand f32[2, 3] and result f32[3, 2] must have the same logical type}}
  %y = nn.reorder %x : tensor<2x3xf32> to tensor<3x2xf32>
  return
}
