// Which values are computed where they are read instead of stored.
// RUN: nncc-opt %s --recompute-values -split-input-file | FileCheck %s

// A centred activation costs one subtraction: it goes before the reduction and into the elementwise kernel, and what is kept for the
// latter is its operand.
// CHECK-LABEL: func.func @train_step
// CHECK: nn.kernel "matmul"
// CHECK: nn.kernel "sub_square_reduce_mean" (%[[X:.*]] = %{{.*}} : tensor<64x128xf32>, %[[M:.*]] = %{{.*}} : tensor<128xf32>) -> tensor<128xf32> {
// CHECK-NEXT: %[[C:.*]] = nn.sub %[[X]], %[[M]]
// CHECK-NEXT: %[[S:.*]] = nn.square %[[C]]
// CHECK-NEXT: nn.reduce_mean %[[S]]
// CHECK: nn.kernel "sub_mul"
// CHECK-NEXT: nn.sub
// CHECK-NEXT: nn.mul
func.func @train_step(%x: tensor<64x64xf32>, %w: tensor<64x128xf32>, %mean: tensor<128xf32>)
    -> (tensor<128xf32>, tensor<64x128xf32>) {
  %0 = nn.kernel "matmul" (%a = %x : tensor<64x64xf32>, %b = %w : tensor<64x128xf32>) -> tensor<64x128xf32> {
    %r = nn.matmul %a, %b : (tensor<64x64xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    nn.yield %r : tensor<64x128xf32>
  }
  %1 = nn.kernel "sub" (%a = %0 : tensor<64x128xf32>, %m = %mean : tensor<128xf32>) -> tensor<64x128xf32> {
    %r = nn.sub %a, %m : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
    nn.yield %r : tensor<64x128xf32>
  }
  %2 = nn.kernel "square_reduce_mean" (%a = %1 : tensor<64x128xf32>) -> tensor<128xf32> {
    %s = nn.square %a : tensor<64x128xf32>
    %r = nn.reduce_mean %s {axes = array<i64: 0>} : tensor<64x128xf32> -> tensor<128xf32>
    nn.yield %r : tensor<128xf32>
  }
  %3 = nn.kernel "mul" (%a = %1 : tensor<64x128xf32>, %f = %2 : tensor<128xf32>) -> tensor<64x128xf32> {
    %r = nn.mul %a, %f : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
    nn.yield %r : tensor<64x128xf32>
  }
  return %2, %3 : tensor<128xf32>, tensor<64x128xf32>
}

// -----

// Whether a dropout keeps an element takes a hundred operations to find out and a byte to store; what it is multiplied with follows
// from that, in the epilogue of a product as well as in the gradient. The numbers of the elements are stored nowhere.
// CHECK-LABEL: func.func @train_step
// CHECK: nn.kernel "iota_random_uniform_greater_equal" {{.*}} -> tensor<64x96xi1> {
// CHECK-NEXT: nn.iota
// CHECK: nn.kernel "where_matmul_mul" {{.*}} -> tensor<64x96xf32> {
// CHECK: nn.where
// CHECK: nn.kernel "where_mul" {{.*}} -> tensor<64x96xf32> {
// CHECK: nn.where
func.func @train_step(%x: tensor<64x32xf32>, %w: tensor<32x96xf32>, %seed: tensor<1xi64>, %step: tensor<1xi64>, %g: tensor<64x96xf32>)
    -> (tensor<64x96xf32>, tensor<64x96xf32>) {
  %0 = nn.kernel "iota" () -> tensor<64x96xi64> {
    %r = nn.iota : tensor<64x96xi64>
    nn.yield %r : tensor<64x96xi64>
  }
  %1 = nn.kernel "random_uniform_greater_equal_where" (%i = %0 : tensor<64x96xi64>, %s = %seed : tensor<1xi64>, %n = %step : tensor<1xi64>) -> tensor<64x96xf32> {
    %p = nn.constant dense<0.1> : tensor<1xf32>
    %zero = nn.constant dense<0.0> : tensor<1xf32>
    %f = nn.constant dense<1.25> : tensor<1xf32>
    %u = nn.random_uniform %i, %s, %n {stream = 0} : (tensor<64x96xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<64x96xf32>
    %k = nn.greater_equal %u, %p : (tensor<64x96xf32>, tensor<1xf32>) -> tensor<64x96xi1>
    %r = nn.where %k, %f, %zero : (tensor<64x96xi1>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x96xf32>
    nn.yield %r : tensor<64x96xf32>
  }
  %2 = nn.kernel "matmul_mul" (%a = %x : tensor<64x32xf32>, %b = %w : tensor<32x96xf32>, %m = %1 : tensor<64x96xf32>) -> tensor<64x96xf32> {
    %p = nn.matmul %a, %b : (tensor<64x32xf32>, tensor<32x96xf32>) -> tensor<64x96xf32>
    %r = nn.mul %p, %m : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
    nn.yield %r : tensor<64x96xf32>
  }
  %3 = nn.kernel "mul" (%a = %g : tensor<64x96xf32>, %m = %1 : tensor<64x96xf32>) -> tensor<64x96xf32> {
    %r = nn.mul %a, %m : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
    nn.yield %r : tensor<64x96xf32>
  }
  return %2, %3 : tensor<64x96xf32>, tensor<64x96xf32>
}

// -----

// Three that stay. An operand of a product must lie in memory; an exponential in two readers costs more than its four bytes; and of a
// sum of two intermediates that nobody else reads later, both would be kept instead of one.
// CHECK-LABEL: func.func @train_step
// CHECK: nn.kernel "relu"
// CHECK: nn.kernel "exp"
// CHECK: nn.kernel "add"
// CHECK: nn.kernel "neg"
func.func @train_step(%x: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = nn.kernel "relu" (%a = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.relu %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %1 = nn.kernel "matmul" (%a = %0 : tensor<64x64xf32>, %b = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %2 = nn.kernel "exp" (%a = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.exp %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %3 = nn.kernel "square" (%a = %2 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.square %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %4 = nn.kernel "neg" (%a = %2 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.neg %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %5 = nn.kernel "matmul" (%a = %x : tensor<64x64xf32>, %b = %1 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %6 = nn.kernel "matmul" (%a = %x : tensor<64x64xf32>, %b = %2 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %7 = nn.kernel "add" (%a = %5 : tensor<64x64xf32>, %b = %6 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.add %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %8 = nn.kernel "neg" (%a = %7 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.neg %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %9 = nn.kernel "square" (%a = %7 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.square %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  return %1, %3, %4, %8, %9, %0 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Other functions stay as they are.
// CHECK-LABEL: func.func @infer
// CHECK: nn.kernel "relu"
// CHECK: nn.kernel "neg"
func.func @infer(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = nn.kernel "relu" (%a = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.relu %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %1 = nn.kernel "neg" (%a = %0 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.neg %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  %2 = nn.kernel "square" (%a = %0 : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = nn.square %a : tensor<64x64xf32>
    nn.yield %r : tensor<64x64xf32>
  }
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}
