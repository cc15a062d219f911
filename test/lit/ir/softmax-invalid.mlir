// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{softmax_c1: axis 2 is not a dimension of f32[4, 8]}}
  %y = nn.softmax %x {axis = 2} : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{softmax_c1: axis -1 is not a dimension of f32[4, 8]}}
  %y = nn.log_softmax %x {axis = -1} : tensor<4x8xf32>
  return
}
