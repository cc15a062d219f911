// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+2 {{layer_norm_c1: dims must be at least 1 and at most the rank of f32[4, 8], found 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.layer_norm %x {dims = 3} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error@+2 {{layer_norm_c2: bias must have shape [8] and x's element type, found f32[4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.layer_norm %x scale %s bias %b {dims = 1} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}
