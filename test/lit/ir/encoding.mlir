// Tensor encodings: named dims, expressions over them, the order in memory. What is printed parses again to the same module.
// RUN: nncc-opt %s | FileCheck %s
// RUN: nncc-opt %s > %t.once && nncc-opt %t.once > %t.twice && diff %t.once %t.twice
// RUN: nncc-opt %s --emit-bytecode -o %t.bc && nncc-opt %t.bc | FileCheck %s

// CHECK-DAG: #[[LAST:[a-z_0-9]+]] = #nn.enc<[N], order = [0, 2, 3, 1]>
// CHECK-DAG: #[[TURNED:[a-z_0-9]+]] = #nn.enc<[], order = [0, 2, 1]>

// CHECK: module attributes {nn.dims = [#nn.dim<"N", 1, 64>, #nn.dim<"T", 1, 512>]}
module attributes {nn.dims = [#nn.dim<"N", 1, 64>, #nn.dim<"T", 1, 512>]} {
  // CHECK: nn.parameter @block1.conv.weight : tensor<16x1x3x3xf32> {init = #nn.init<uniform, -2.500000e-01, 2.500000e-01>}
  nn.parameter @block1.conv.weight : tensor<16x1x3x3xf32> {init = #nn.init<uniform, -0.25, 0.25>}

  // CHECK-LABEL: func.func @named
  // CHECK-SAME: tensor<?x1x28x28xf32, #nn.enc<[N]>>
  // CHECK-SAME: tensor<?x?x64xf32, #nn.enc<[N, T]>>
  func.func @named(%image: tensor<?x1x28x28xf32, #nn.enc<[N]>>,
                   %tokens: tensor<?x?x64xf32, #nn.enc<[N, T]>>) {
    // CHECK: nn.get_parameter @block1.conv.weight : tensor<16x1x3x3xf32>
    %w = nn.get_parameter @block1.conv.weight : tensor<16x1x3x3xf32>
    return
  }

  // CHECK-LABEL: func.func private @expressions
  // CHECK-SAME: #nn.enc<[N, T floordiv 2]>
  // CHECK-SAME: #nn.enc<[N * T]>
  // CHECK-SAME: #nn.enc<[T + 3]>
  // CHECK-SAME: #nn.enc<[T ceildiv 4, T mod 8]>
  func.func private @expressions(tensor<?x?x64xf32, #nn.enc<[N, T floordiv 2]>>,
                                 tensor<?xf32, #nn.enc<[N * T]>>,
                                 tensor<?xf32, #nn.enc<[T + 3]>>,
                                 tensor<?x?xi64, #nn.enc<[T ceildiv 4, T mod 8]>>)

  // CHECK-LABEL: func.func private @channels_last
  // CHECK-SAME: tensor<?x16x28x28xf32, #[[LAST]]>
  // CHECK-SAME: tensor<2x3x4xf32, #[[TURNED]]>
  func.func private @channels_last(tensor<?x16x28x28xf32, #nn.enc<[N], order = [0, 2, 3, 1]>>,
                                   tensor<2x3x4xf32, #nn.enc<[], order = [0, 2, 1]>>)
}
