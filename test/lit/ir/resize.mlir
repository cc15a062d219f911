// nn.resize: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.resize %{{.*}} linear half_pixel : tensor<1x3x4x4xf32> -> tensor<1x3x8x8xf32>
func.func @example(%x: tensor<1x3x4x4xf32>) -> (tensor<1x3x8x8xf32>) {
  %y = nn.resize %x linear half_pixel : tensor<1x3x4x4xf32> -> tensor<1x3x8x8xf32>
  return %y : tensor<1x3x8x8xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.resize{{.*}} -> tensor<1x3x?x?xf32, #nn.enc<[H * 2, W * 2]>>
func.func @named_dims(%x: tensor<1x3x?x?xf32, #nn.enc<[H, W]>>) {
  %y = nn.resize %x nearest asymmetric : tensor<1x3x?x?xf32, #nn.enc<[H, W]>> -> tensor<1x3x?x?xf32, #nn.enc<[H * 2, W * 2]>>
  return
}
