// nn.lstm: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.lstm %{{.*}}, %{{.*}}, %{{.*}} bias_ih %{{.*}} h0 %{{.*}} c0 %{{.*}} : (tensor<2x5x8xf32>, tensor<64x8xf32>, tensor<64x16xf32>, tensor<64xf32>, tensor<2x16xf32>, tensor<2x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
func.func @example(%x: tensor<2x5x8xf32>, %w_ih: tensor<64x8xf32>, %w_hh: tensor<64x16xf32>, %b: tensor<64xf32>, %h0: tensor<2x16xf32>, %c0: tensor<2x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>) {
  %y, %h, %c = nn.lstm %x, %w_ih, %w_hh bias_ih %b h0 %h0 c0 %c0 : (tensor<2x5x8xf32>, tensor<64x8xf32>, tensor<64x16xf32>, tensor<64xf32>, tensor<2x16xf32>, tensor<2x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
  return %y, %h, %c : tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.lstm{{.*}} -> (tensor<?x?x16xf32, #nn.enc<[N, T]>>, tensor<?x16xf32, #nn.enc<[N]>>, tensor<?x16xf32, #nn.enc<[N]>>)
func.func @named_dims(%x: tensor<?x?x8xf32, #nn.enc<[N, T]>>, %w: tensor<64x8xf32>, %u: tensor<64x16xf32>) {
  %y, %h, %c = nn.lstm %x, %w, %u : (tensor<?x?x8xf32, #nn.enc<[N, T]>>, tensor<64x8xf32>, tensor<64x16xf32>) -> (tensor<?x?x16xf32, #nn.enc<[N, T]>>, tensor<?x16xf32, #nn.enc<[N]>>, tensor<?x16xf32, #nn.enc<[N]>>)
  return
}
