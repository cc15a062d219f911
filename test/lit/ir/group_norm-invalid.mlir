// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x16x8xf32>) {
  // expected-error@+2 {{group_norm_c1: x must have rank 2 or more and channels that groups divides, found f32[1, 16, 8] and 3 groups}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.group_norm %x {groups = 3} : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x16x8xf32>, %s: tensor<16xf16>) {
  // expected-error@+2 {{group_norm_c2: scale must have shape [16] and x's element type, found f16[16]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.group_norm %x scale %s {groups = 4} : (tensor<1x16x8xf32>, tensor<16xf16>) -> tensor<1x16x8xf32>
  return
}
