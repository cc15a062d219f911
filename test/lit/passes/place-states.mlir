// A state is written over itself where nothing reads it later and the writer reads it where it writes; else its next value is copied at
// the end.
// RUN: nncc-opt --place-states %s | FileCheck %s

// CHECK-LABEL: func.func @in_place
// CHECK: nn.kernel "neg"
// CHECK-NOT: nn.kernel
func.func @in_place(%s: tensor<4xf32> {nn.state = "s"}) -> (tensor<4xf32> {nn.state = "s"}) {
  %0 = nn.kernel "neg" (%a = %s : tensor<4xf32>) -> tensor<4xf32> {
    %1 = nn.neg %a : tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @read_later
// CHECK: %[[S:.*]] = nn.kernel "neg" (%{{.*}} = %arg0
// CHECK: %[[Y:.*]] = nn.kernel "exp"
// CHECK: %[[C:.*]] = nn.kernel "copy" (%{{.*}} = %[[S]]
// CHECK: return %[[C]], %[[Y]]
func.func @read_later(%s: tensor<4xf32> {nn.state = "s"}) -> (tensor<4xf32> {nn.state = "s"}, tensor<4xf32>) {
  %0 = nn.kernel "neg" (%a = %s : tensor<4xf32>) -> tensor<4xf32> {
    %2 = nn.neg %a : tensor<4xf32>
    nn.yield %2 : tensor<4xf32>
  }
  %1 = nn.kernel "exp" (%a = %s : tensor<4xf32>) -> tensor<4xf32> {
    %2 = nn.exp %a : tensor<4xf32>
    nn.yield %2 : tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A kernel that reads the state backwards would read what it wrote.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK: nn.kernel "slice"
// CHECK: nn.kernel "copy"
func.func @read_elsewhere(%s: tensor<4xf32> {nn.state = "s"}) -> (tensor<4xf32> {nn.state = "s"}) {
  %0 = nn.kernel "slice" (%a = %s : tensor<4xf32>) -> tensor<4xf32> {
    %1 = nn.slice %a {sizes = array<i64: -1>, starts = array<i64: -1>, steps = array<i64: -1>} : tensor<4xf32> -> tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// Through a view, a part of the state is read at another place than the writer writes.
// CHECK-LABEL: func.func @read_part
// CHECK: nn.kernel "add"
// CHECK: nn.kernel "copy"
func.func @read_part(%s: tensor<4xf32> {nn.state = "s"}) -> (tensor<4xf32> {nn.state = "s"}) {
  %p = nn.slice %s {sizes = array<i64: 1>, starts = array<i64: 2>, steps = array<i64: 1>} : tensor<4xf32> -> tensor<1xf32>
  %0 = nn.kernel "add" (%a = %s : tensor<4xf32>, %b = %p : tensor<1xf32>) -> tensor<4xf32> {
    %1 = nn.add %a, %b : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
