// nn.kernel and nn.yield: their text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.kernel "relu_add" (%[[A:.*]] = %arg0 : tensor<?x8xf32, #nn.enc<[N]>>, %[[B:.*]] = %arg1 : tensor<8xf32>)
// CHECK-SAME: -> tensor<?x8xf32, #nn.enc<[N]>> {
// CHECK: %[[R:.*]] = nn.relu %[[A]]
// CHECK: %[[S:.*]] = nn.add %[[R]], %[[B]]
// CHECK: nn.yield %[[S]] : tensor<?x8xf32, #nn.enc<[N]>>
func.func @example(%x: tensor<?x8xf32, #nn.enc<[N]>>, %b: tensor<8xf32>) -> tensor<?x8xf32, #nn.enc<[N]>> {
  %y = nn.kernel "relu_add" (%a = %x : tensor<?x8xf32, #nn.enc<[N]>>, %c = %b : tensor<8xf32>) -> tensor<?x8xf32, #nn.enc<[N]>> {
    %0 = nn.relu %a : tensor<?x8xf32, #nn.enc<[N]>>
    %1 = nn.add %0, %c : (tensor<?x8xf32, #nn.enc<[N]>>, tensor<8xf32>) -> tensor<?x8xf32, #nn.enc<[N]>>
    nn.yield %1 : tensor<?x8xf32, #nn.enc<[N]>>
  }
  return %y : tensor<?x8xf32, #nn.enc<[N]>>
}
