// nn.recurrence: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.recurrence %{{.*}}, %{{.*}} rnn_tanh : (tensor<2x5x16xf32>, tensor<16x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
func.func @example(%p: tensor<2x5x16xf32>, %w_hh: tensor<16x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>) {
  %y, %h = nn.recurrence %p, %w_hh rnn_tanh : (tensor<2x5x16xf32>, tensor<16x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
  return %y, %h : tensor<2x5x16xf32>, tensor<2x16xf32>
}

// CHECK-LABEL: func.func @named_dims
// CHECK: nn.recurrence %{{.*}}, %{{.*}} bias_hh %{{.*}} h0 %{{.*}} gru {reverse} : {{.*}} -> (tensor<?x?x16xf32, #nn.enc<[N, T]>>, tensor<?x16xf32, #nn.enc<[N]>>)
func.func @named_dims(%p: tensor<?x?x48xf32, #nn.enc<[N, T]>>, %w: tensor<48x16xf32>, %b: tensor<48xf32>, %h0: tensor<?x16xf32, #nn.enc<[N]>>) {
  %y, %h = nn.recurrence %p, %w bias_hh %b h0 %h0 gru {reverse}
    : (tensor<?x?x48xf32, #nn.enc<[N, T]>>, tensor<48x16xf32>, tensor<48xf32>, tensor<?x16xf32, #nn.enc<[N]>>)
      -> (tensor<?x?x16xf32, #nn.enc<[N, T]>>, tensor<?x16xf32, #nn.enc<[N]>>)
  return
}
