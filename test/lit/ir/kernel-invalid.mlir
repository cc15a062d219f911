// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{kernel_c1: the body must yield the result types}}
  %y = nn.kernel "relu" (%a = %x : tensor<4xf32>) -> tensor<5xf32> {
    %0 = nn.relu %a : tensor<4xf32>
    nn.yield %0 : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{kernel_c1: block arguments must have the operands' types}}
  %y = "nn.kernel"(%x) <{kernel_name = "relu"}> ({
  ^bb0(%a: tensor<5xf32>):
    %0 = nn.relu %a : tensor<5xf32>
    nn.yield %0 : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{kernel_c2: in_place needs one result and the number of an operand, found 1 results and number 1 of 1}}
  %y = "nn.kernel"(%x) <{kernel_name = "relu", in_place = 1 : i64}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = nn.relu %a : tensor<4xf32>
    nn.yield %0 : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
