// nn.gather_gradient: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.gather_gradient %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<?x7xi64, #nn.enc<[N]>>, tensor<?x7x16xf32, #nn.enc<[N]>>) -> tensor<100x16xf32>
func.func @example(%i: tensor<?x7xi64, #nn.enc<[N]>>, %g: tensor<?x7x16xf32, #nn.enc<[N]>>) -> tensor<100x16xf32> {
  %dx = nn.gather_gradient %i, %g {axis = 0} : (tensor<?x7xi64, #nn.enc<[N]>>, tensor<?x7x16xf32, #nn.enc<[N]>>) -> tensor<100x16xf32>
  return %dx : tensor<100x16xf32>
}
