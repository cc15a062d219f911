// nn.recurrence_gradient: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.recurrence_gradient %{{.*}} factors(%{{.*}}) y %{{.*}} rnn_tanh : (tensor<16x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
func.func @example(%w_hh: tensor<16x16xf32>, %slope: tensor<2x5x16xf32>, %dy: tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>) {
  %dp, %dh0 = nn.recurrence_gradient %w_hh factors (%slope) y %dy rnn_tanh
            : (tensor<16x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return %dp, %dh0 : tensor<2x5x16xf32>, tensor<2x16xf32>
}

!sequence = tensor<?x?x16xf32, #nn.enc<[N, T]>>
!state = tensor<?x16xf32, #nn.enc<[N]>>
// CHECK-LABEL: func.func @named_dims
// CHECK: nn.recurrence_gradient %{{.*}} factors(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) h %{{.*}} c %{{.*}} lstm {reverse} : {{.*}} -> (tensor<?x?x64xf32, #nn.enc<[N, T]>>, tensor<?x16xf32, #nn.enc<[N]>>, tensor<?x16xf32, #nn.enc<[N]>>)
func.func @named_dims(%w: tensor<64x16xf32>, %f: !sequence, %dh: !state) {
  %dp, %dh0, %dc0 = nn.recurrence_gradient %w factors (%f, %f, %f, %f, %f, %f) h %dh c %dh lstm {reverse}
    : (tensor<64x16xf32>, !sequence, !sequence, !sequence, !sequence, !sequence, !sequence, !state, !state)
      -> (tensor<?x?x64xf32, #nn.enc<[N, T]>>, !state, !state)
  return
}
