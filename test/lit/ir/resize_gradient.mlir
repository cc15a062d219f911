// nn.resize_gradient: its text form.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.resize_gradient %{{.*}} linear half_pixel : tensor<1x3x8x8xf32> -> tensor<1x3x4x4xf32>
func.func @example(%g: tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32> {
  %dx = nn.resize_gradient %g linear half_pixel : tensor<1x3x8x8xf32> -> tensor<1x3x4x4xf32>
  return %dx : tensor<1x3x4x4xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.resize_gradient %{{.*}} nearest asymmetric : tensor<?x3x?xf32, #nn.enc<[N, L * 2]>> -> tensor<?x3x?xf32, #nn.enc<[N, L]>>
func.func @named_dims(%g: tensor<?x3x?xf32, #nn.enc<[N, L * 2]>>) {
  %dx = nn.resize_gradient %g nearest asymmetric : tensor<?x3x?xf32, #nn.enc<[N, L * 2]>> -> tensor<?x3x?xf32, #nn.enc<[N, L]>>
  return
}
