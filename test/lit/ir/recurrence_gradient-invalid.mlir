// What nn.recurrence_gradient refuses.
// RUN: nncc-opt %s --split-input-file --verify-diagnostics

func.func @weight(%w: tensor<16x16xf32>, %f: tensor<2x5x16xf32>) {
  // expected-error @+2 {{recurrence_gradient_c1: gru needs w_hh [3 * H, H] and 5 factors [N, T, H], found f32[16, 16] and 5, the first one f32[2, 5, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %dp, %dh0 = nn.recurrence_gradient %w factors (%f, %f, %f, %f, %f) gru
    : (tensor<16x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>)
      -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @factors(%w: tensor<16x16xf32>, %f: tensor<2x5x16xf32>) {
  // expected-error @+2 {{recurrence_gradient_c1: rnn_tanh needs w_hh [1 * H, H] and 1 factors [N, T, H], found f32[16, 16] and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %dp, %dh0 = nn.recurrence_gradient %w factors (%f, %f) rnn_tanh
    : (tensor<16x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @state(%w: tensor<16x16xf32>, %f: tensor<2x5x16xf32>, %dh: tensor<3x16xf32>) {
  // expected-error @+2 {{recurrence_gradient_c2: y must be [N, T, H], h and, for an LSTM, c [N, H], with factors f32[2, 5, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %dp, %dh0 = nn.recurrence_gradient %w factors (%f) h %dh rnn_tanh
    : (tensor<16x16xf32>, tensor<2x5x16xf32>, tensor<3x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @cell_state(%w: tensor<16x16xf32>, %f: tensor<2x5x16xf32>, %dc: tensor<2x16xf32>) {
  // expected-error @+2 {{recurrence_gradient_c2: y must be [N, T, H]}}
  // expected-error @+1 {{failed to infer returned types}}
  %dp, %dh0 = nn.recurrence_gradient %w factors (%f) c %dc rnn_relu
    : (tensor<16x16xf32>, tensor<2x5x16xf32>, tensor<2x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return
}

// -----

func.func @element(%w: tensor<16x16xf64>, %f: tensor<2x5x16xf32>) {
  // expected-error @+2 {{recurrence_gradient_c3: operands must have the element type 'f64', found f32[2, 5, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %dp, %dh0 = nn.recurrence_gradient %w factors (%f) rnn_relu
    : (tensor<16x16xf64>, tensor<2x5x16xf32>) -> (tensor<2x5x16xf64>, tensor<2x16xf64>)
  return
}
