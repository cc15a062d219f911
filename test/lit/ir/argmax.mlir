// nn.argmax: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.argmax %{{.*}} {axis = 1 : i64} : tensor<4x8xf32> -> tensor<4xi64>
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4xi64>) {
  %y = nn.argmax %x {axis = 1} : tensor<4x8xf32> -> tensor<4xi64>
  return %y : tensor<4xi64>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.argmax{{.*}} -> tensor<?x?x1xi64, #nn.enc<[N, T]>>
func.func @named_dims(%x: tensor<?x?x8xf32, #nn.enc<[N, T]>>) {
  %y = nn.argmax %x {axis = 2, keepdims} : tensor<?x?x8xf32, #nn.enc<[N, T]>> -> tensor<?x?x1xi64, #nn.enc<[N, T]>>
  return
}
