// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<5x8xf32>, %w: tensor<16x8xf32>, %u: tensor<16x16xf32>) {
  // expected-error@+2 {{recurrent_c1: x must have rank 3, and all operands its element type, found f32[5, 8] and f32[16, 8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y, %h = nn.rnn %x, %w, %u : (tensor<5x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x5x8xf32>, %w: tensor<16x9xf32>, %u: tensor<16x16xf32>) {
  // expected-error@+2 {{recurrent_c2: with x f32[2, 5, 8], w_hh must have shape [1 * H, H] and w_ih [1 * H, 8], found f32[16, 16] and f32[16, 9]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y, %h = nn.rnn %x, %w, %u : (tensor<2x5x8xf32>, tensor<16x9xf32>, tensor<16x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x5x8xf32>, %w: tensor<16x8xf32>, %u: tensor<16x16xf32>, %o: tensor<8xf32>) {
  // expected-error@+2 {{recurrent_c3: biases must have shape [16], found f32[8]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y, %h = nn.rnn %x, %w, %u bias_ih %o : (tensor<2x5x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>, tensor<8xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x5x8xf32>, %w: tensor<16x8xf32>, %u: tensor<16x16xf32>, %o: tensor<16xf32>) {
  // expected-error@+2 {{recurrent_c4: initial states must have shape [2, 16], found f32[16]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y, %h = nn.rnn %x, %w, %u h0 %o : (tensor<2x5x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}
