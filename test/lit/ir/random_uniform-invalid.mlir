// RUN: nncc-opt %s --split-input-file --verify-diagnostics

func.func @f(%element: tensor<4x8xi64>, %seed: tensor<3xi64>, %step: tensor<1xi64>) -> tensor<4x8xf32> {
  // expected-error@+2 {{random_uniform_c1: shapes of i64[4, 8] and i64[3] do not broadcast}}
  // expected-error@+1 {{failed to infer returned types}}
  %u = nn.random_uniform %element, %seed, %step {stream = 3} : (tensor<4x8xi64>, tensor<3xi64>, tensor<1xi64>) -> tensor<4x8xf32>
  return %u : tensor<4x8xf32>
}
