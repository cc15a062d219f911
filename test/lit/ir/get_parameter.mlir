// nn.get_parameter: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

nn.parameter @fc1.weight : tensor<64x784xf32>

// CHECK-LABEL: func.func @example
// CHECK: nn.get_parameter @fc1.weight : tensor<64x784xf32>
func.func @example() -> tensor<64x784xf32> {
  %w = nn.get_parameter @fc1.weight : tensor<64x784xf32>
  return %w : tensor<64x784xf32>
}
