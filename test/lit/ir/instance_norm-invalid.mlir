// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x16xf32>) {
  // expected-error@+2 {{instance_norm_c1: x must have rank 3 or more, found f32[1, 16]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.instance_norm %x {} : (tensor<1x16xf32>) -> tensor<1x16xf32>
  return
}

// -----

func.func @f(%x: tensor<1x16x8xf32>, %s: tensor<8xf32>) {
  // expected-error@+2 {{instance_norm_c2: scale must have shape [16] and x's element type, found f32[8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.instance_norm %x scale %s {} : (tensor<1x16x8xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  return
}
