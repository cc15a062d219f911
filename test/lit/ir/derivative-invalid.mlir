// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{derivative_c1: there is no elementwise op nn.matmul}}
  %dx = nn.derivative %x, %x {of = "matmul", wrt = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %g: tensor<5xf32>) {
  // expected-error@+1 {{derivative_c1: nn.add of these operands has no result f32[5]: }}
  %dx = nn.derivative %x, %x, %g {of = "add", wrt = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{derivative_c1: nn.add of these operands has no result f32[4]: 'nn.add' op expected 2 operands, but found 1}}
  %dx = nn.derivative %x, %x {of = "add", wrt = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{derivative_c2: operand 1 is none with a floating-point element type}}
  %dx = nn.derivative %x, %x {of = "relu", wrt = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%c: tensor<4xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{derivative_c2: operand 0 is none with a floating-point element type}}
  %dx = nn.derivative %c, %x, %x, %x {of = "where", wrt = 0 : i64} : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
