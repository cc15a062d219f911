// nn.rnn: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.rnn %{{.*}}, %{{.*}}, %{{.*}} bias_ih %{{.*}} {reverse} : (tensor<2x5x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
func.func @example(%x: tensor<2x5x8xf32>, %w_ih: tensor<16x8xf32>, %w_hh: tensor<16x16xf32>, %b: tensor<16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>) {
  %y, %h = nn.rnn %x, %w_ih, %w_hh bias_ih %b {reverse} : (tensor<2x5x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return %y, %h : tensor<2x5x16xf32>, tensor<2x16xf32>
}
