// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{celu_c1: alpha must not be zero}}
  %y = nn.celu %x {alpha = 0.0} : tensor<4xf32>
  return
}
