// Which results overwrite an operand.
// RUN: nncc-opt %s --plan-buffers | FileCheck %s

// The input is the caller's; the second kernel is the last reader of the first one's result, and the output is the caller's again.
// CHECK-LABEL: func.func @chain
// CHECK: nn.kernel "relu" {{.*}} -> tensor<4x8xf32> {
// CHECK: nn.kernel "tanh" {{.*}} -> tensor<4x8xf32> attributes {in_place = 0 : i64} {
// CHECK: nn.kernel "exp" {{.*}} -> tensor<4x8xf32> {
func.func @chain(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.kernel "relu" (%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %r = nn.relu %a : tensor<4x8xf32>
    nn.yield %r : tensor<4x8xf32>
  }
  %1 = nn.kernel "tanh" (%a = %0 : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %r = nn.tanh %a : tensor<4x8xf32>
    nn.yield %r : tensor<4x8xf32>
  }
  %2 = nn.kernel "exp" (%a = %1 : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %r = nn.exp %a : tensor<4x8xf32>
    nn.yield %r : tensor<4x8xf32>
  }
  return %2 : tensor<4x8xf32>
}

// The product reads its left operand at other places than it writes; the residual only where it writes.
// CHECK-LABEL: func.func @residual
// CHECK: nn.kernel "relu"
// CHECK: nn.kernel "tanh" {{.*}} -> tensor<8x8xf32> {
// CHECK: nn.kernel "matmul_add" {{.*}} -> tensor<8x8xf32> attributes {in_place = 2 : i64} {
// CHECK: nn.kernel "exp"
func.func @residual(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.kernel "relu" (%a = %x : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = nn.relu %a : tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  // %0 is read again below, so it stays.
  %1 = nn.kernel "tanh" (%a = %0 : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = nn.tanh %a : tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  %2 = nn.kernel "matmul_add" (%a = %1 : tensor<8x8xf32>, %b = %w : tensor<8x8xf32>, %c = %0 : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %m = nn.matmul %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %r = nn.add %m, %c : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  %3 = nn.kernel "exp" (%a = %2 : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = nn.exp %a : tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  return %3 : tensor<8x8xf32>
}

// An operand that is read along one dimension only cannot hold the result.
// CHECK-LABEL: func.func @broadcast
// CHECK: nn.kernel "relu"
// CHECK: nn.kernel "add" {{.*}} -> tensor<8x8xf32> {
// CHECK: nn.kernel "exp"
func.func @broadcast(%x: tensor<8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.kernel "relu" (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %r = nn.relu %a : tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %1 = nn.kernel "add" (%a = %0 : tensor<8xf32>, %b = %y : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = nn.add %a, %b : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  %2 = nn.kernel "exp" (%a = %1 : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = nn.exp %a : tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  return %2 : tensor<8x8xf32>
}

// A square that is turned behind an elementwise op has the shape of its operand, but not its places.
// CHECK-LABEL: func.func @turned
// CHECK: nn.kernel "relu"
// CHECK: nn.kernel "tanh_transpose" {{.*}} -> tensor<8x8xf32> {
// CHECK: nn.kernel "exp"
func.func @turned(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.kernel "relu" (%a = %x : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = nn.relu %a : tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  %1 = nn.kernel "tanh_transpose" (%a = %0 : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %t = nn.tanh %a : tensor<8x8xf32>
    %r = nn.transpose %t {permutation = array<i64: 1, 0>} : tensor<8x8xf32> -> tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  %2 = nn.kernel "exp" (%a = %1 : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = nn.exp %a : tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  return %2 : tensor<8x8xf32>
}
