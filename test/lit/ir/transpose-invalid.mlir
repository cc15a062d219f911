// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{transpose_c1: permutation must hold each dimension of f32[2, 3, 4] once}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.transpose %x {permutation = array<i64: 0, 1, 1>} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{transpose_c1: permutation must hold each dimension of f32[2, 3, 4] once}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.transpose %x {permutation = array<i64: 0, 1>} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return
}
