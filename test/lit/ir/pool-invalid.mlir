// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+2 {{pool_c1: x must have rank 3, 4 or 5, found f32[4, 8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<4x8xf32> -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error@+2 {{pool_c2: kernel needs one entry per spatial dimension: expected 2, found 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error@+2 {{pool_c2: strides entries must be at least 1, found 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 0, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error@+2 {{pool_c2: pads of spatial dimension 1 must be smaller than the dilated kernel (2)}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 2>, pads_end = array<i64: 0, 0>} : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x1x8xf32>) {
  // expected-error@+2 {{pool_c3: the dilated kernel does not fit into the padded input of spatial dimension 0: f32[1, 4, 1, 8] with kernel 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<1x4x1x8xf32> -> tensor<1x4x8x8xf32>
  return
}
