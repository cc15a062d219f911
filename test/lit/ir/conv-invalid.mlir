// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error@+2 {{conv_c1: x must have rank 3, 4 or 5}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<8x4x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+2 {{conv_c2: strides needs one entry per spatial dimension: expected 2, found 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+2 {{conv_c2: dilations entries must be at least 1, found 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 0>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+2 {{conv_c3: groups (3) must divide the channels of f32[1, 4, 8, 8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 3 : i64} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error@+2 {{conv_c4: bias must have shape [8], found f32[4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>, tensor<4xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x2xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error@+2 {{conv_c5: the dilated kernel does not fit into the padded input of spatial dimension 1: f32[1, 4, 8, 2] with kernel 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x2xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}
