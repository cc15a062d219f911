// What cannot be trained.
// RUN: nncc-opt --build-train-step --split-input-file --verify-diagnostics %s

module attributes {nn.dims = [], nn.train = {freeze = ["*"], optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.0 : f64,
                   nesterov = false, no_decay = [], weight_decay = 0.0 : f64}}} {
  nn.parameter @a : tensor<f32>
  // expected-error@+1 {{there is no parameter to train: all are frozen, or the loss reads none}}
  func.func @evaluate() -> (tensor<f32> {nn.name = "loss"}) {
    %a = nn.get_parameter @a : tensor<f32>
    return %a : tensor<f32>
  }
}

// -----

module attributes {nn.dims = [], nn.train = {freeze = ["layer1.*"], optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.0 : f64,
                   nesterov = false, no_decay = [], weight_decay = 0.0 : f64}}} {
  nn.parameter @a : tensor<f32>
  // expected-error@+1 {{freeze: no parameter of the model fits "layer1.*"; --emit=summary lists them}}
  func.func @evaluate() -> (tensor<f32> {nn.name = "loss"}) {
    %a = nn.get_parameter @a : tensor<f32>
    return %a : tensor<f32>
  }
}

// -----

module attributes {nn.dims = [], nn.train = {optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.0 : f64,
                   nesterov = false, no_decay = [], weight_decay = 0.0 : f64}}} {
  nn.parameter @a : tensor<f16>
  func.func @evaluate() -> (tensor<f16> {nn.name = "loss"}) {
    // expected-error@+1 {{parameter 'a' has elements of type 'f16', in which small updates vanish; train it in f32}}
    %a = nn.get_parameter @a : tensor<f16>
    return %a : tensor<f16>
  }
}
