// What nn.linear_scan refuses.
// RUN: nncc-opt %s --split-input-file --verify-diagnostics

func.func @shapes(%a: tensor<2x5x16xf32>, %b: tensor<2x6x16xf32>) {
  // expected-error @+2 {{linear_scan_c1: a and b must have one shape with a dimension 1, found f32[2, 5, 16] and f32[2, 6, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %s = nn.linear_scan %a, %b {axis = 1} : (tensor<2x5x16xf32>, tensor<2x6x16xf32>) -> tensor<2x6x16xf32>
  return
}

// -----

func.func @axis(%a: tensor<2x5x16xf32>) {
  // expected-error @+2 {{linear_scan_c1: a and b must have one shape with a dimension 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %s = nn.linear_scan %a, %a {axis = 3} : (tensor<2x5x16xf32>, tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  return
}

// -----

func.func @first(%a: tensor<2x5x16xf32>, %c0: tensor<5x16xf32>) {
  // expected-error @+2 {{linear_scan_c2: first must have the shape of f32[2, 5, 16] without dimension 1, found f32[5, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %s = nn.linear_scan %a, %a first %c0 {axis = 1} : (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<5x16xf32>) -> tensor<2x5x16xf32>
  return
}

// -----

func.func @element(%a: tensor<2x5x16xf16>, %b: tensor<2x5x16xf32>) {
  // expected-error @+2 {{linear_scan_c3: operands must have the element type 'f32', found f16[2, 5, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %s = nn.linear_scan %a, %b {axis = 1} : (tensor<2x5x16xf16>, tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  return
}
