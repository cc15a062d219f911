// What nn.resize_gradient refuses.
// RUN: nncc-opt %s --split-input-file --verify-diagnostics

func.func @channels(%g: tensor<1x3x8x8xf32>) {
  // expected-error @+1 {{resize_gradient_c1: there is no such resize of f32[1, 2, 4, 4] to f32[1, 3, 8, 8]: }}
  %dx = nn.resize_gradient %g linear half_pixel : tensor<1x3x8x8xf32> -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @taps(%g: tensor<1x3x8x99xf32>) {
  // expected-error @+1 {{resize_gradient_c2: along dimension 3 at most 32 positions may read an element, found 50}}
  %dx = nn.resize_gradient %g nearest half_pixel : tensor<1x3x8x99xf32> -> tensor<1x3x4x2xf32>
  return
}

// -----

func.func @unknown(%g: tensor<1x3x?xf32, #nn.enc<[A]>>) {
  // expected-error @+1 {{resize_gradient_c2: along dimension 2 at most 32 positions may read an element, found a number that depends on named dims}}
  %dx = nn.resize_gradient %g nearest half_pixel : tensor<1x3x?xf32, #nn.enc<[A]>> -> tensor<1x3x?xf32, #nn.enc<[B]>>
  return
}
