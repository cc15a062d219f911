// nn.gru: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.gru %{{.*}}, %{{.*}}, %{{.*}} bias_ih %{{.*}} bias_hh %{{.*}} : (tensor<2x5x8xf32>, tensor<48x8xf32>, tensor<48x16xf32>, tensor<48xf32>, tensor<48xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
func.func @example(%x: tensor<2x5x8xf32>, %w_ih: tensor<48x8xf32>, %w_hh: tensor<48x16xf32>, %b: tensor<48xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>) {
  %y, %h = nn.gru %x, %w_ih, %w_hh bias_ih %b bias_hh %b : (tensor<2x5x8xf32>, tensor<48x8xf32>, tensor<48x16xf32>, tensor<48xf32>, tensor<48xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return %y, %h : tensor<2x5x16xf32>, tensor<2x16xf32>
}
