// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi64>) {
  // expected-error@+2 {{gather_c1: axis 2 is not a dimension of f32[4, 8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.gather %x, %i {axis = 2} : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x8x3xf32>
  return
}
