// An op without a gradient is named where it stands in the model.
// RUN: nncc-opt %s --expand-gradients -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x3x4x4xf32>, %g: tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32> {
  // expected-error@+1 {{'nn.resize' op has no gradient}}
  %y = nn.resize %x linear half_pixel : tensor<1x3x4x4xf32> -> tensor<1x3x8x8xf32>
  %dx = nn.gradient of (%y) seeds (%g) by (%x) : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  return %dx : tensor<1x3x4x4xf32>
}
