// RUN: nncc-opt %s | nncc-opt | FileCheck %s

func.func @f(%element: tensor<4x8xi64>, %seed: tensor<1xi64>, %step: tensor<1xi64>) -> tensor<4x8xf32> {
  // CHECK: nn.random_uniform %arg0, %arg1, %arg2 {stream = 3 : i64}
  %u = nn.random_uniform %element, %seed, %step {stream = 3} : (tensor<4x8xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x8xf32>
  return %u : tensor<4x8xf32>
}
