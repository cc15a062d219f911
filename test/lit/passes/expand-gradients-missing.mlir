// An op without a gradient is named where it stands in the model.
// RUN: nncc-opt %s --expand-gradients -split-input-file -verify-diagnostics

func.func @op(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'nn.linear_scan' op has no gradient}}
  %y = nn.linear_scan %x, %x {axis = 0} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %dx = nn.gradient of (%y) seeds (%g) by (%x) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %dx : tensor<4x8xf32>
}

// -----

func.func @dims(%x: tensor<1x3x?xf32, #nn.enc<[L]>>, %g: tensor<1x3x8xf32>) -> tensor<1x3x?xf32, #nn.enc<[L]>> {
  // expected-error@+1 {{'nn.resize' op has a dynamic spatial dimension that is no multiple of the other, for which it has no gradient}}
  %y = nn.resize %x linear half_pixel : tensor<1x3x?xf32, #nn.enc<[L]>> -> tensor<1x3x8xf32>
  %dx = nn.gradient of (%y) seeds (%g) by (%x) : (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x?xf32, #nn.enc<[L]>>) -> tensor<1x3x?xf32, #nn.enc<[L]>>
  return %dx : tensor<1x3x?xf32, #nn.enc<[L]>>
}
