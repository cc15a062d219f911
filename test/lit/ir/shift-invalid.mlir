// What nn.shift refuses.
// RUN: nncc-opt %s --split-input-file --verify-diagnostics

func.func @axis(%y: tensor<2x5x16xf32>) {
  // expected-error @+2 {{shift_c1: axis 3 is not a dimension of f32[2, 5, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %before = nn.shift %y {axis = 3} : (tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  return
}

// -----

func.func @first(%y: tensor<2x5x16xf32>, %h0: tensor<5x16xf32>) {
  // expected-error @+2 {{shift_c2: first must have the type of f32[2, 5, 16] without dimension 1, found f32[5, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %before = nn.shift %y first %h0 {axis = 1} : (tensor<2x5x16xf32>, tensor<5x16xf32>) -> tensor<2x5x16xf32>
  return
}
