// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+2 {{pad_c1: begin and end need one entry per dimension of f32[4], none negative}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.pad %x constant {begin = array<i64: -1>, end = array<i64: 0>} : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+2 {{pad_c2: dimension 0 of f32[4] is too short for a reflect border of 4 and 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.pad %x reflect {begin = array<i64: 4>, end = array<i64: 0>} : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+2 {{pad_c2: dimension 0 of f32[4] is too short for a circular border of 0 and 5}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.pad %x circular {begin = array<i64: 0>, end = array<i64: 5>} : tensor<4xf32> -> tensor<9xf32>
  return
}

// -----

func.func @f(%x: tensor<0xf32>) {
  // expected-error@+2 {{pad_c2: dimension 0 of f32[0] is too short for a replicate border of 1 and 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.pad %x replicate {begin = array<i64: 1>, end = array<i64: 0>} : tensor<0xf32> -> tensor<1xf32>
  return
}
