// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<8xf32>) {
  // expected-error@+2 {{slice_c1: starts, sizes and steps need one entry per dimension of f32[8], found 2, 1 and 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 1>, steps = array<i64: 1>} : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error@+2 {{slice_c2: dimension 0 needs a step other than 0 and a size of 0 or more, or -1, found step 0 and size 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.slice %x {starts = array<i64: 0>, sizes = array<i64: 1>, steps = array<i64: 0>} : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error@+2 {{slice_c3: size -1 of dimension 0 goes with start 0 and step 1, or start -1 and step -1, found start 1 and step 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.slice %x {starts = array<i64: 1>, sizes = array<i64: -1>, steps = array<i64: 1>} : tensor<8xf32> -> tensor<7xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error@+2 {{slice_c4: 3 elements from 6 in steps of 1 do not lie within dimension 0 of f32[8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.slice %x {starts = array<i64: 6>, sizes = array<i64: 3>, steps = array<i64: 1>} : tensor<8xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error@+2 {{slice_c4: 3 elements from 1 in steps of -1 do not lie within dimension 0 of f32[8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.slice %x {starts = array<i64: 1>, sizes = array<i64: 3>, steps = array<i64: -1>} : tensor<8xf32> -> tensor<3xf32>
  return
}
