// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<4x8x3xf32>) {
  // expected-error@+2 {{conv_transpose_c1: x must have rank 3, 4 or 5}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x8x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<4x8x3x3xf32>) {
  // expected-error@+2 {{conv_transpose_c2: strides entries must be at least 1, found 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv_transpose %x, %w {strides = array<i64: 0, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<4x8x3x3xf32>) {
  // expected-error@+2 {{conv_transpose_c3: output_padding needs one entry per spatial dimension: expected 2, found 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<4x8x3x3xf32>) {
  // expected-error@+2 {{conv_transpose_c3: output_padding must be smaller than the stride or the dilation, found 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, output_padding = array<i64: 0, 1>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<4x8x3x3xf32>) {
  // expected-error@+2 {{conv_transpose_c4: groups (3) must divide the channels of f32[1, 4, 8, 8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, output_padding = array<i64: 0, 0>, groups = 3 : i64} : (tensor<1x4x8x8xf32>, tensor<4x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<4x8x3x3xf32>, %b: tensor<8xf32>) {
  // expected-error@+2 {{conv_transpose_c5: bias must have shape [16], found f32[8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv_transpose %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, output_padding = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<4x8x3x3xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x1x8xf32>, %w: tensor<4x8x3x3xf32>) {
  // expected-error@+2 {{conv_transpose_c6: the result is empty or too large in spatial dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 2, 0>, pads_end = array<i64: 2, 0>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x1x8xf32>, tensor<4x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}
