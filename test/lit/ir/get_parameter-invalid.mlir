// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f() {
  // expected-error@+1 {{get_parameter_c1: no nn.parameter is named w}}
  %w = nn.get_parameter @w : tensor<2xf32>
  return
}

// -----

nn.parameter @w : tensor<3xf32>
func.func @f() {
  // expected-error@+1 {{get_parameter_c1: parameter w has type 'tensor<3xf32>', expected 'tensor<2xf32>'}}
  %w = nn.get_parameter @w : tensor<2xf32>
  return
}
