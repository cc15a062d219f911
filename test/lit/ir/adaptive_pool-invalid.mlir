// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+2 {{adaptive_pool_c1: x must have rank 3, 4 or 5, found f32[4, 8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.adaptive_avg_pool %x {output_size = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error@+2 {{adaptive_pool_c2: output_size needs one positive entry per spatial dimension}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.adaptive_max_pool %x {output_size = array<i64: 1, 0>} : tensor<1x4x8x8xf32> -> tensor<1x4x1x1xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x0x8xf32>) {
  // expected-error@+2 {{adaptive_pool_c3: no spatial dimension may be empty}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.adaptive_max_pool %x {output_size = array<i64: 1, 1>} : tensor<1x4x0x8xf32> -> tensor<1x4x1x1xf32>
  return
}
