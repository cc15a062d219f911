// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1xf32>) {
  // expected-error@+1 {{expand_c1: operand and result must have one element type, found f32[1] and i32[6]}}
  %y = nn.expand %x : tensor<1xf32> -> tensor<6xi32>
  return
}

// -----

func.func @f(%x: tensor<2x1xf32>) {
  // expected-error@+1 {{expand_c2: f32[2, 1] does not broadcast to f32[1, 3]}}
  %y = nn.expand %x : tensor<2x1xf32> -> tensor<1x3xf32>
  return
}
