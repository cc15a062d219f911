// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{dropout_c1: p must lie in 0..1}}
  %y = nn.dropout %x {p = 1.5} : tensor<4xf32>
  return
}
