// Which kernels run again when the memory of a training step is limited.
// RUN: nncc-opt %s --fit-memory-budget=budget=33000 | FileCheck %s
// RUN: nncc-opt %s --fit-memory-budget=budget=41000 | FileCheck %s --check-prefix=ROOMY
// RUN: not nncc-opt %s --fit-memory-budget=budget=20000 2>&1 | FileCheck %s --check-prefix=LITTLE

// Tensors of 8 KiB. When the fourth product runs, five are alive: what it reads and makes, and three that wait for the way back. Of these
// the activation is the one that costs least to make again, of what is kept anyway.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: nn.unlimited_bytes = 40960
// CHECK: %[[A:.*]] = nn.kernel "forward"
// CHECK: nn.kernel "relu" {{.*}} -> tensor<64x32xf32> {
// CHECK: nn.kernel "turn"
// CHECK: nn.kernel "back"
// CHECK: %[[R:.*]] = nn.kernel "relu" (%{{.*}} = %[[A]] : tensor<64x32xf32>) -> tensor<64x32xf32> attributes {nn.recomputed} {
// CHECK: nn.kernel "back" ({{.*}}, %{{.*}} = %[[R]] : tensor<64x32xf32>)
// CHECK-NOT: nn.recomputed
// CHECK: return

// ROOMY-LABEL: func.func @train_step
// ROOMY-NOT: nn.recomputed
// ROOMY: return

// Two that a product reads, what it makes, and the one that is kept to make the others of.
// LITTLE: error: a training step of fixed size needs at least {{[0-9.]+}} KiB ({{[0-9]+}} bytes) for intermediates, however much is computed again; the memory budget is 19.5 KiB (20000 bytes): allow more, or train with a smaller batch
func.func @train_step(%x: tensor<64x32xf32>, %w: tensor<32x32xf32>) -> tensor<64x32xf32> {
  %0 = nn.kernel "forward" (%a = %x : tensor<64x32xf32>, %b = %w : tensor<32x32xf32>) -> tensor<64x32xf32> {
    %r = nn.matmul %a, %b : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    nn.yield %r : tensor<64x32xf32>
  }
  %1 = nn.kernel "relu" (%a = %0 : tensor<64x32xf32>) -> tensor<64x32xf32> {
    %r = nn.relu %a : tensor<64x32xf32>
    nn.yield %r : tensor<64x32xf32>
  }
  %2 = nn.kernel "forward" (%a = %1 : tensor<64x32xf32>, %b = %w : tensor<32x32xf32>) -> tensor<64x32xf32> {
    %r = nn.matmul %a, %b : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    nn.yield %r : tensor<64x32xf32>
  }
  %3 = nn.kernel "forward" (%a = %2 : tensor<64x32xf32>, %b = %w : tensor<32x32xf32>) -> tensor<64x32xf32> {
    %r = nn.matmul %a, %b : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    nn.yield %r : tensor<64x32xf32>
  }
  %4 = nn.kernel "turn" (%a = %3 : tensor<64x32xf32>, %b = %w : tensor<32x32xf32>) -> tensor<64x32xf32> {
    %r = nn.matmul %a, %b : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    nn.yield %r : tensor<64x32xf32>
  }
  %5 = nn.kernel "back" (%g = %4 : tensor<64x32xf32>, %b = %w : tensor<32x32xf32>, %a = %2 : tensor<64x32xf32>) -> tensor<64x32xf32> {
    %m = nn.matmul %g, %b : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    %r = nn.mul %m, %a : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    nn.yield %r : tensor<64x32xf32>
  }
  %6 = nn.kernel "back" (%g = %5 : tensor<64x32xf32>, %b = %w : tensor<32x32xf32>, %a = %1 : tensor<64x32xf32>) -> tensor<64x32xf32> {
    %m = nn.matmul %g, %b : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    %r = nn.mul %m, %a : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    nn.yield %r : tensor<64x32xf32>
  }
  %7 = nn.kernel "back" (%g = %6 : tensor<64x32xf32>, %b = %w : tensor<32x32xf32>, %a = %0 : tensor<64x32xf32>) -> tensor<64x32xf32> {
    %m = nn.matmul %g, %b : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    %r = nn.mul %m, %a : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    nn.yield %r : tensor<64x32xf32>
  }
  return %7 : tensor<64x32xf32>
}
