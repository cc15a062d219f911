// What nn.recurrence refuses.
// RUN: nncc-opt %s --split-input-file --verify-diagnostics

func.func @gates(%p: tensor<2x5x16xf32>, %w: tensor<16x16xf32>) {
  // expected-error @+2 {{recurrence_c1: projected f32[2, 5, 16] and w_hh f32[16, 16] must be [N, T, G * H] and [G * H, H] with G = 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %h, %c = "nn.recurrence"(%p, %w) <{cell = #nn<recurrent_cell lstm>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}>
    : (tensor<2x5x16xf32>, tensor<16x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @bias(%p: tensor<2x5x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) {
  // expected-error @+2 {{recurrence_c2: bias_hh needs a GRU and shape [16], found f32[16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %h = "nn.recurrence"(%p, %w, %b) <{cell = #nn<recurrent_cell rnn_tanh>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}>
    : (tensor<2x5x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @state(%p: tensor<2x5x16xf32>, %w: tensor<16x16xf32>, %s: tensor<3x16xf32>) {
  // expected-error @+2 {{recurrence_c3: an initial state must have shape [N, H], found f32[3, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %h = "nn.recurrence"(%p, %w, %s) <{cell = #nn<recurrent_cell rnn_tanh>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>}>
    : (tensor<2x5x16xf32>, tensor<16x16xf32>, tensor<3x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @cell_state(%p: tensor<2x5x16xf32>, %w: tensor<16x16xf32>, %s: tensor<2x16xf32>) {
  // expected-error @+2 {{recurrence_c3: only an LSTM has c0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %h = "nn.recurrence"(%p, %w, %s) <{cell = #nn<recurrent_cell rnn_tanh>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>}>
    : (tensor<2x5x16xf32>, tensor<16x16xf32>, tensor<2x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @element(%p: tensor<2x5x16xf32>, %w: tensor<16x16xf16>) {
  // expected-error @+2 {{recurrence_c4: operands must have the element type 'f32', found f16[16, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %h = "nn.recurrence"(%p, %w) <{cell = #nn<recurrent_cell rnn_tanh>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}>
    : (tensor<2x5x16xf32>, tensor<16x16xf16>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}
