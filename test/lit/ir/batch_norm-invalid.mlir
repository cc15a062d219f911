// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<16xf32>, %p0: tensor<16xf32>, %p1: tensor<16xf32>, %p2: tensor<16xf32>, %p3: tensor<16xf32>) {
  // expected-error@+2 {{batch_norm_c1: x must have rank 2 or more, found f32[16]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.batch_norm %x, %p0, %p1, %p2, %p3 : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @f(%x: tensor<1x16x8xf32>, %p0: tensor<16xf32>, %p1: tensor<16xf32>, %p2: tensor<16xf32>, %p3: tensor<8xf32>) {
  // expected-error@+2 {{batch_norm_c2: variance must have shape [16] and x's element type, found f32[8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.batch_norm %x, %p0, %p1, %p2, %p3 : (tensor<1x16x8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  return
}
