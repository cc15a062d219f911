// nn.reorder: its text form, and how chains of reorders fold.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-DAG: #[[LAST:[a-z_0-9]+]] = #nn.enc<[], order = [0, 2, 3, 1]>

// CHECK-LABEL: func.func @example
// CHECK: nn.reorder %arg0 : tensor<1x3x8x8xf32> to tensor<1x3x8x8xf32, #[[LAST]]>
func.func @example(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32, #nn.enc<[], order = [0, 2, 3, 1]>> {
  %y = nn.reorder %x : tensor<1x3x8x8xf32> to tensor<1x3x8x8xf32, #nn.enc<[], order = [0, 2, 3, 1]>>
  return %y : tensor<1x3x8x8xf32, #nn.enc<[], order = [0, 2, 3, 1]>>
}

// FOLD-LABEL: func.func @there_and_back
// FOLD: return %arg0
func.func @there_and_back(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
  %0 = nn.reorder %x : tensor<1x3x8x8xf32> to tensor<1x3x8x8xf32, #nn.enc<[], order = [0, 2, 3, 1]>>
  %1 = nn.reorder %0 : tensor<1x3x8x8xf32, #nn.enc<[], order = [0, 2, 3, 1]>> to tensor<1x3x8x8xf32>
  return %1 : tensor<1x3x8x8xf32>
}
