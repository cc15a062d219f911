// nn.derivative: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.derivative %{{.*}}, %{{.*}} {of = "gelu", with = {tanh_approximation}, wrt = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @example(%x: tensor<4x8xf32>, %dy: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %dx = nn.derivative %x, %dy {of = "gelu", with = {tanh_approximation}, wrt = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %dx : tensor<4x8xf32>
}

// A broadcast operand, in the shape of the result.
// CHECK-LABEL: func.func @broadcast
// CHECK: nn.derivative %{{.*}}, %{{.*}}, %{{.*}} {of = "div", wrt = 1 : i64} : (tensor<?x8xf32, #nn.enc<[N]>>, tensor<8xf32>, tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<?x8xf32, #nn.enc<[N]>>
func.func @broadcast(%x: tensor<?x8xf32, #nn.enc<[N]>>, %y: tensor<8xf32>, %g: tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<?x8xf32, #nn.enc<[N]>> {
  %dy = nn.derivative %x, %y, %g {of = "div", wrt = 1 : i64} : (tensor<?x8xf32, #nn.enc<[N]>>, tensor<8xf32>, tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<?x8xf32, #nn.enc<[N]>>
  return %dy : tensor<?x8xf32, #nn.enc<[N]>>
}
