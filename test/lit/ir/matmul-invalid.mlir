// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+2 {{matmul_c1: operands must have rank 2 or more and one element type, found f32[3] and f32[3, 4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.matmul %a, %b : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x401408xf32>, %b: tensor<128x32768xf32>) {
  // expected-error@+2 {{matmul_c2: the contracted dimensions must agree, found 401408 in f32[1, 401408] and 32768 in f32[128, 32768]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.matmul %a, %b {transpose_rhs} : (tensor<1x401408xf32>, tensor<128x32768xf32>) -> tensor<1x128xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3x4x5xf32>) {
  // expected-error@+2 {{matmul_c3: the leading dimensions of f32[2, 3, 4] and f32[3, 4, 5] do not broadcast}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.matmul %a, %b : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>, %c: tensor<4xf32>) {
  // expected-error@+2 {{matmul_c4: bias must have shape [5], found f32[4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.matmul %a, %b bias %c : (tensor<3x4xf32>, tensor<4x5xf32>, tensor<4xf32>) -> tensor<3x5xf32>
  return
}

// -----

// Sizes are computed with overflow checks.
func.func @f(%a: tensor<3037000500x1xf32>, %b: tensor<1x3037000500xf32>) {
  // expected-error@+2 {{a tensor of shape [3037000500, 3037000500] takes more than 2^63 - 1 bytes}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.matmul %a, %b : (tensor<3037000500x1xf32>, tensor<1x3037000500xf32>) -> tensor<1x1xf32>
  return
}
