// nn.attention: its text form, what it infers from named dims.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} {causal} : (tensor<2x8x5x64xf32>, tensor<2x8x7x64xf32>, tensor<2x8x7x64xf32>, tensor<5x7xi1>) -> tensor<2x8x5x64xf32>
func.func @example(%q: tensor<2x8x5x64xf32>, %k: tensor<2x8x7x64xf32>, %v: tensor<2x8x7x64xf32>, %m: tensor<5x7xi1>) -> (tensor<2x8x5x64xf32>) {
  %y = nn.attention %q, %k, %v mask %m {causal} : (tensor<2x8x5x64xf32>, tensor<2x8x7x64xf32>, tensor<2x8x7x64xf32>, tensor<5x7xi1>) -> tensor<2x8x5x64xf32>
  return %y : tensor<2x8x5x64xf32>
}

// Two key heads serve four query heads each.
// CHECK-LABEL: func.func @named_dims
// CHECK: nn.attention{{.*}} -> tensor<?x8x?x32xf32, #nn.enc<[N, S]>>
func.func @named_dims(%q: tensor<?x8x?x64xf32, #nn.enc<[N, S]>>, %k: tensor<?x2x?x64xf32, #nn.enc<[N, T]>>,
                      %v: tensor<?x2x?x32xf32, #nn.enc<[N, T]>>, %m: tensor<?x1x1x?xf32, #nn.enc<[N, T]>>) {
  %y = nn.attention %q, %k, %v mask %m {scale = 0.5}
     : (tensor<?x8x?x64xf32, #nn.enc<[N, S]>>, tensor<?x2x?x64xf32, #nn.enc<[N, T]>>, tensor<?x2x?x32xf32, #nn.enc<[N, T]>>,
        tensor<?x1x1x?xf32, #nn.enc<[N, T]>>) -> tensor<?x8x?x32xf32, #nn.enc<[N, S]>>
  return
}
