// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{softplus_c1: beta must not be zero}}
  %y = nn.softplus %x {beta = 0.0} : tensor<4xf32>
  return
}
