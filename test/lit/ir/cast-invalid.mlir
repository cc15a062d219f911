// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+2 {{cast_c1: nncc does not compute with 'i16'}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.cast %x {to = i16} : tensor<4xf32> -> tensor<4xi32>
  return
}
