// What depends on parameters alone runs in @prepare; its results are arguments of @infer.
// RUN: nncc-opt %s --outline-prepare --split-input-file | FileCheck %s

nn.parameter @fc.weight : tensor<10x32xf32>
nn.parameter @fc.bias : tensor<10xf32>
nn.parameter @scale : tensor<10xf32>

// The packed weight and the sum of two parameters are computed once.
// CHECK-LABEL: func.func @prepare() ->
// CHECK-SAME: (tensor<10x32xf32, {{.*}}> {nn.constant = "fc.weight.packed"}, tensor<10xf32> {nn.constant = "fc.bias.prepared"})
// CHECK-DAG: %[[W:.*]] = nn.get_parameter @fc.weight
// CHECK-DAG: %[[P:.*]] = nn.reorder %[[W]]
// CHECK-DAG: %[[B:.*]] = nn.get_parameter @fc.bias
// CHECK-DAG: %[[S:.*]] = nn.get_parameter @scale
// CHECK-DAG: %[[A:.*]] = nn.add %[[B]], %[[S]]
// CHECK: return %[[P]], %[[A]]

// @infer keeps the parameter that it reads as it is.
// CHECK-LABEL: func.func @infer
// CHECK-SAME: (%[[X:.*]]: tensor<4x32xf32> {nn.name = "x"}, %[[PACKED:.*]]: tensor<10x32xf32, {{.*}}> {nn.constant = "fc.weight.packed"},
// CHECK-SAME: %[[SUM:.*]]: tensor<10xf32> {nn.constant = "fc.bias.prepared"})
// CHECK-NEXT: %[[RAW:.*]] = nn.get_parameter @scale
// CHECK-NEXT: %[[M:.*]] = nn.matmul %[[X]], %[[PACKED]] bias %[[SUM]]
// CHECK-NEXT: nn.add %[[M]], %[[RAW]]
func.func @infer(%x: tensor<4x32xf32> {nn.name = "x"}) -> (tensor<4x10xf32> {nn.name = "y"}) {
  %w = nn.get_parameter @fc.weight : tensor<10x32xf32>
  %b = nn.get_parameter @fc.bias : tensor<10xf32>
  %s = nn.get_parameter @scale : tensor<10xf32>
  %p = nn.reorder %w : tensor<10x32xf32> to tensor<10x32xf32, #nn.enc<[], pack = <[0, 1, 16], [1, 32, 1], [0, 16, 1]>>>
  %sum = nn.add %b, %s : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %0 = nn.matmul %x, %p bias %sum {transpose_rhs}
    : (tensor<4x32xf32>, tensor<10x32xf32, #nn.enc<[], pack = <[0, 1, 16], [1, 32, 1], [0, 16, 1]>>>, tensor<10xf32>) -> tensor<4x10xf32>
  %1 = nn.add %0, %s : (tensor<4x10xf32>, tensor<10xf32>) -> tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

// -----

// A table of values is prepared, a single value stays in the code, but not as the operand of a product. The weights that a model
// is loaded with need not hold any of them.
// CHECK-NOT: nn.parameter
// CHECK-LABEL: func.func @prepare
// CHECK-SAME: (tensor<2xf32> {nn.constant = "constant.prepared"}, tensor<2x2xf32> {nn.constant = "constant.prepared.2"})
// CHECK-DAG: %[[TABLE:.*]] = nn.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-DAG: %[[MATRIX:.*]] = nn.constant dense<5.000000e-01>
// CHECK: return %[[TABLE]], %[[MATRIX]]
// CHECK-LABEL: func.func @infer
// CHECK-SAME: (%{{.*}}: tensor<4x2xf32>, %[[T:.*]]: tensor<2xf32> {{.*}}, %[[M:.*]]: tensor<2x2xf32>
// CHECK: %[[S:.*]] = nn.constant dense<3.000000e+00> : tensor<1xf32>
// CHECK: %[[A:.*]] = nn.add %{{.*}}, %[[T]]
// CHECK: %[[B:.*]] = nn.add %[[A]], %[[S]]
// CHECK: nn.matmul %[[B]], %[[M]]
func.func @infer(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %t = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = nn.constant dense<3.0> : tensor<1xf32>
  %m = nn.constant dense<0.5> : tensor<2x2xf32>
  %0 = nn.add %x, %t : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = nn.add %0, %s : (tensor<4x2xf32>, tensor<1xf32>) -> tensor<4x2xf32>
  %2 = nn.matmul %1, %m : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// A sum of as many ones as a named dim says is made of constants alone, but known at a run only.
// CHECK-LABEL: func.func @prepare
// CHECK-NOT: nn.expand
// CHECK-LABEL: func.func @infer
// CHECK: nn.expand
// CHECK: nn.reduce_sum
// CHECK: nn.div
func.func @infer(%x: tensor<?x4xf32, #nn.enc<[N]>>) -> tensor<?x4xf32, #nn.enc<[N]>> {
  %one = nn.constant dense<1.0> : tensor<1xf32>
  %ones = nn.expand %one : tensor<1xf32> -> tensor<?xf32, #nn.enc<[N]>>
  %count = nn.reduce_sum %ones {axes = array<i64: 0>, keepdims} : tensor<?xf32, #nn.enc<[N]>> -> tensor<1xf32>
  %y = nn.div %x, %count : (tensor<?x4xf32, #nn.enc<[N]>>, tensor<1xf32>) -> tensor<?x4xf32, #nn.enc<[N]>>
  return %y : tensor<?x4xf32, #nn.enc<[N]>>
}
