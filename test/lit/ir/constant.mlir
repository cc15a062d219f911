// nn.constant: its text form; equal constants become one.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s
// RUN: nncc-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @example
// CHECK: nn.constant dense<5.000000e-01> : tensor<1xf32>
// CHECK: nn.constant dense<5.000000e-01> : tensor<1xf32>

// FOLD-LABEL: func.func @example
// FOLD: %[[C:.*]] = nn.constant dense<5.000000e-01> : tensor<1xf32>
// FOLD: return %[[C]], %[[C]]
func.func @example() -> (tensor<1xf32>, tensor<1xf32>) {
  %a = nn.constant dense<0.5> : tensor<1xf32>
  %b = nn.constant dense<0.5> : tensor<1xf32>
  return %a, %b : tensor<1xf32>, tensor<1xf32>
}
