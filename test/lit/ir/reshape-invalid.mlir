// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<6xf32>) {
  // expected-error@+1 {{reshape_c1: operand and result must have one element type, found f32[6] and i32[6]}}
  %y = nn.reshape %x : tensor<6xf32> -> tensor<6xi32>
  return
}

// -----

func.func @f(%x: tensor<6xf32>) {
  // expected-error@+1 {{reshape_c2: operand and result must have the same number of elements, found f32[6] and f32[2, 4]}}
  %y = nn.reshape %x : tensor<6xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32, #nn.enc<[N]>>) {
  // expected-error@+1 {{reshape_c2: operand and result must have the same number of elements, found f32[N, 4] and f32[M, 4]}}
  %y = nn.reshape %x : tensor<?x4xf32, #nn.enc<[N]>> -> tensor<?x4xf32, #nn.enc<[M]>>
  return
}
