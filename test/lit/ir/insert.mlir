// nn.insert: its text form, with and without the tensor that it completes.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
func.func @example(%x: tensor<4x8xf32>, %y: tensor<4x16xf32>) -> tensor<4x24xf32> {
  // CHECK: nn.insert %{{.*}} {axis = 1 : i64, offset = 0 : i64} : (tensor<4x16xf32>) -> tensor<4x24xf32>
  %first = nn.kernel "abs" (%a = %y : tensor<4x16xf32>) -> tensor<4x24xf32> {
    %0 = nn.abs %a : tensor<4x16xf32>
    %1 = nn.insert %0 {axis = 1, offset = 0} : (tensor<4x16xf32>) -> tensor<4x24xf32>
    nn.yield %1 : tensor<4x24xf32>
  }
  // CHECK: nn.insert %{{.*}} into %{{.*}} {axis = 1 : i64, offset = 16 : i64} : (tensor<4x8xf32>, tensor<4x24xf32>) -> tensor<4x24xf32>
  %both = nn.kernel "relu" (%a = %x : tensor<4x8xf32>, %d = %first : tensor<4x24xf32>) -> tensor<4x24xf32> attributes {in_place = 1 : i64} {
    %0 = nn.relu %a : tensor<4x8xf32>
    %1 = nn.insert %0 into %d {axis = 1, offset = 16} : (tensor<4x8xf32>, tensor<4x24xf32>) -> tensor<4x24xf32>
    nn.yield %1 : tensor<4x24xf32>
  }
  return %both : tensor<4x24xf32>
}

// The other dimensions may be named ones.
// CHECK-LABEL: func.func @named_dims
// CHECK: nn.insert {{.*}} -> tensor<?x24xf32, #nn.enc<[N]>>
func.func @named_dims(%x: tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<?x24xf32, #nn.enc<[N]>> {
  %y = nn.kernel "relu" (%a = %x : tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<?x24xf32, #nn.enc<[N]>> {
    %0 = nn.relu %a : tensor<?x8xf32, #nn.enc<[N]>>
    %1 = nn.insert %0 {axis = 1, offset = 16} : (tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<?x24xf32, #nn.enc<[N]>>
    nn.yield %1 : tensor<?x24xf32, #nn.enc<[N]>>
  }
  return %y : tensor<?x24xf32, #nn.enc<[N]>>
}
