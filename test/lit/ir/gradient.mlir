// nn.gradient: its text form, of a loss and with seeds.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: %[[G:.*]]:2 = nn.gradient of(%{{.*}}) by(%{{.*}}, %{{.*}}) : (tensor<f32>, tensor<64x784xf32>, tensor<64xf32>) -> (tensor<64x784xf32>, tensor<64xf32>)
func.func @example(%loss: tensor<f32>, %w: tensor<64x784xf32>, %b: tensor<64xf32>) -> (tensor<64x784xf32>, tensor<64xf32>) {
  %dw, %db = nn.gradient of (%loss) by (%w, %b) : (tensor<f32>, tensor<64x784xf32>, tensor<64xf32>) -> (tensor<64x784xf32>, tensor<64xf32>)
  return %dw, %db : tensor<64x784xf32>, tensor<64xf32>
}

// CHECK-LABEL: func.func @seeds
// CHECK: nn.gradient of(%{{.*}}) seeds(%{{.*}}) by(%{{.*}}) : (tensor<?x8xf32, #nn.enc<[N]>>, tensor<?x8xf32, #nn.enc<[N]>>, tensor<16xf32>) -> tensor<16xf32>
func.func @seeds(%y: tensor<?x8xf32, #nn.enc<[N]>>, %dy: tensor<?x8xf32, #nn.enc<[N]>>, %x: tensor<16xf32>) -> tensor<16xf32> {
  %dx = nn.gradient of (%y) seeds (%dy) by (%x) : (tensor<?x8xf32, #nn.enc<[N]>>, tensor<?x8xf32, #nn.enc<[N]>>, tensor<16xf32>) -> tensor<16xf32>
  return %dx : tensor<16xf32>
}
