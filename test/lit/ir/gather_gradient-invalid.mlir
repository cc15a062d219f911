// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%i: tensor<2x7xi64>, %g: tensor<2x8x16xf32>) {
  // expected-error@+1 {{gather_gradient_c1: there is no such gather to f32[2, 8, 16]: }}
  %dx = nn.gather_gradient %i, %g {axis = 0} : (tensor<2x7xi64>, tensor<2x8x16xf32>) -> tensor<100x16xf32>
  return
}

// -----

func.func @f(%i: tensor<7xi64>, %g: tensor<7x16xf32>) {
  // expected-error@+1 {{gather_gradient_c1: there is no such gather to f32[7, 16]: gather_c1: }}
  %dx = nn.gather_gradient %i, %g {axis = 2} : (tensor<7xi64>, tensor<7x16xf32>) -> tensor<100x16xf32>
  return
}
