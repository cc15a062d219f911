// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%y: tensor<4xf32>, %x: tensor<8xi32>) {
  // expected-error@+1 {{operand #1 must be variadic of}}
  %dx = nn.gradient of (%y) by (%x) : (tensor<4xf32>, tensor<8xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%y: tensor<4xf32>, %x: tensor<8xf32>) {
  // expected-error@+1 {{gradient_c1: a gradient without seeds is that of one tensor of one element, found f32[4]}}
  %dx = nn.gradient of (%y) by (%x) : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%y: tensor<f32>, %x: tensor<8xf32>) {
  // expected-error@+1 {{gradient_c1: a gradient without seeds is that of one tensor of one element, found 2 tensors}}
  %dx = nn.gradient of (%y, %y) by (%x) : (tensor<f32>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%y: tensor<4xf32>, %dy: tensor<5xf32>, %x: tensor<8xf32>) {
  // expected-error@+1 {{gradient_c2: seeds have the types of the tensors that are differentiated}}
  %dx = nn.gradient of (%y) seeds (%dy) by (%x) : (tensor<4xf32>, tensor<5xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%y: tensor<f32>, %x: tensor<8xf32>) {
  // expected-error@+1 {{gradient_c3: gradients have the types of the values that they belong to}}
  %dx = nn.gradient of (%y) by (%x) : (tensor<f32>, tensor<8xf32>) -> tensor<7xf32>
  return
}
