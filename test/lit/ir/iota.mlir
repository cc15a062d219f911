// RUN: nncc-opt %s | nncc-opt | FileCheck %s

func.func @f() -> tensor<2x3xi64> {
  // CHECK: nn.iota : tensor<2x3xi64>
  %y = nn.iota : tensor<2x3xi64>
  return %y : tensor<2x3xi64>
}
