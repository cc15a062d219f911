// Which small kernels become one.
// RUN: nncc-opt %s --merge-kernels -split-input-file | FileCheck %s

// A batch norm's factor and shift, and the next running mean. The mean itself is a reduction, and stays.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[M:.*]] = nn.kernel "reduce_mean"
// CHECK: %[[R:.*]]:3 = nn.kernel "sub_add_mul_mul_sub" (%{{.*}} = %[[M]] : tensor<8xf32>, {{.*}} -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
// CHECK: %[[D:.*]] = nn.sub
// CHECK: %[[N:.*]] = nn.add
// CHECK: %[[F:.*]] = nn.mul
// CHECK: %[[P:.*]] = nn.mul %{{.*}}, %[[F]]
// CHECK: %[[S:.*]] = nn.sub %{{.*}}, %[[P]]
// CHECK: nn.yield %[[N]], %[[F]], %[[S]]
// CHECK-NOT: nn.kernel "sub_add"
// CHECK: nn.kernel "apply" ({{.*}} = %[[R]]#1 : tensor<8xf32>, {{.*}} = %[[R]]#2 : tensor<8xf32>)
// CHECK: return %{{.*}}, %[[R]]#0
func.func @train_step(%x: tensor<640x8xf32>, %running: tensor<8xf32>, %scale: tensor<8xf32>, %other: tensor<8xf32>, %bias: tensor<8xf32>)
    -> (tensor<640x8xf32>, tensor<8xf32>) {
  %0 = nn.kernel "reduce_mean" (%a = %x : tensor<640x8xf32>) -> tensor<8xf32> {
    %r = nn.reduce_mean %a {axes = array<i64: 0>} : tensor<640x8xf32> -> tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %1 = nn.kernel "sub_add" (%m = %0 : tensor<8xf32>, %o = %running : tensor<8xf32>) -> tensor<8xf32> {
    %d = nn.sub %m, %o : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %r = nn.add %d, %o : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %2 = nn.kernel "mul" (%a = %scale : tensor<8xf32>, %b = %other : tensor<8xf32>) -> tensor<8xf32> {
    %r = nn.mul %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %3 = nn.kernel "mul_sub" (%m = %0 : tensor<8xf32>, %f = %2 : tensor<8xf32>, %b = %bias : tensor<8xf32>) -> tensor<8xf32> {
    %p = nn.mul %m, %f : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %r = nn.sub %b, %p : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %4 = nn.kernel "apply" (%a = %x : tensor<640x8xf32>, %f = %2 : tensor<8xf32>, %s = %3 : tensor<8xf32>) -> tensor<640x8xf32> {
    %p = nn.mul %a, %f : (tensor<640x8xf32>, tensor<8xf32>) -> tensor<640x8xf32>
    %r = nn.add %p, %s : (tensor<640x8xf32>, tensor<8xf32>) -> tensor<640x8xf32>
    nn.yield %r : tensor<640x8xf32>
  }
  return %4, %1 : tensor<640x8xf32>, tensor<8xf32>
}

// -----

// What is read in between stays where it is; so does what is large.
// CHECK-LABEL: func.func @train_step
// CHECK: nn.kernel "neg" {{.*}} -> tensor<8xf32> {
// CHECK: nn.kernel "reduce_sum"
// CHECK: nn.kernel "relu" {{.*}} -> tensor<8xf32> {
// CHECK: nn.kernel "neg" {{.*}} -> tensor<640x80xf32> {
// CHECK: nn.kernel "relu" {{.*}} -> tensor<640x80xf32> {
func.func @train_step(%x: tensor<8xf32>, %y: tensor<640x80xf32>)
    -> (tensor<8xf32>, tensor<f32>, tensor<8xf32>, tensor<640x80xf32>, tensor<640x80xf32>) {
  %0 = nn.kernel "neg" (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %r = nn.neg %a : tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %1 = nn.kernel "reduce_sum" (%a = %0 : tensor<8xf32>) -> tensor<f32> {
    %r = nn.reduce_sum %a {axes = array<i64: 0>} : tensor<8xf32> -> tensor<f32>
    nn.yield %r : tensor<f32>
  }
  %2 = nn.kernel "relu" (%a = %0 : tensor<8xf32>) -> tensor<8xf32> {
    %r = nn.relu %a : tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %3 = nn.kernel "neg" (%a = %y : tensor<640x80xf32>) -> tensor<640x80xf32> {
    %r = nn.neg %a : tensor<640x80xf32>
    nn.yield %r : tensor<640x80xf32>
  }
  %4 = nn.kernel "relu" (%a = %y : tensor<640x80xf32>) -> tensor<640x80xf32> {
    %r = nn.relu %a : tensor<640x80xf32>
    nn.yield %r : tensor<640x80xf32>
  }
  return %0, %1, %2, %3, %4 : tensor<8xf32>, tensor<f32>, tensor<8xf32>, tensor<640x80xf32>, tensor<640x80xf32>
}
