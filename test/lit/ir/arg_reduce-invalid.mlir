// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{arg_reduce_c1: axis -1 is not a dimension of f32[2, 3, 4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.argmax %x {axis = -1} : tensor<2x3x4xf32> -> tensor<2x3xi64>
  return
}

// -----

func.func @f(%x: tensor<0x3xf32>) {
  // expected-error@+2 {{arg_reduce_c2: dimension 0 of f32[0, 3] is empty}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.argmin %x {axis = 0} : tensor<0x3xf32> -> tensor<3xi64>
  return
}
