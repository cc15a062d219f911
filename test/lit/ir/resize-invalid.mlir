// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x3x4xf32>) {
  // expected-error@+1 {{resize_c1: x must have rank 3, 4 or 5, and the result the same rank, element type, N and C}}
  %y = nn.resize %x linear half_pixel : tensor<1x3x4xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x4xi32>) {
  // expected-error@+1 {{resize_c2: linear interpolation needs a floating-point tensor, found i32[1, 3, 4]}}
  %y = nn.resize %x linear half_pixel : tensor<1x3x4xi32> -> tensor<1x3x8xi32>
  return
}

// -----

func.func @f(%x: tensor<1x3x4xf32>) {
  // expected-error@+1 {{resize_c3: no spatial extent may be zero, found f32[1, 3, 0]}}
  %y = nn.resize %x nearest half_pixel : tensor<1x3x4xf32> -> tensor<1x3x0xf32>
  return
}
