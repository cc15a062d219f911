// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%q: tensor<5x64xf32>, %k: tensor<1x5x64xf32>, %v: tensor<5x64xf32>) {
  // expected-error@+2 {{attention_c1: q, k and v must have one element type and the same rank of at least 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.attention %q, %k, %v : (tensor<5x64xf32>, tensor<1x5x64xf32>, tensor<5x64xf32>) -> tensor<5x64xf32>
  return
}

// -----

func.func @f(%q: tensor<5x64xf32>, %k: tensor<5x32xf32>, %v: tensor<5x64xf32>) {
  // expected-error@+2 {{attention_c2: q and k must agree in their last, static dimension, k and v in the one before, found f32[5, 64], f32[5, 32] and f32[5, 64]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.attention %q, %k, %v : (tensor<5x64xf32>, tensor<5x32xf32>, tensor<5x64xf32>) -> tensor<5x64xf32>
  return
}

// -----

func.func @f(%q: tensor<5x64xf32>, %k: tensor<7x64xf32>, %v: tensor<6x64xf32>) {
  // expected-error@+2 {{attention_c2: q and k must agree in their last, static dimension}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.attention %q, %k, %v : (tensor<5x64xf32>, tensor<7x64xf32>, tensor<6x64xf32>) -> tensor<5x64xf32>
  return
}

// -----

func.func @f(%q: tensor<1x8x5x64xf32>, %k: tensor<1x3x5x64xf32>, %v: tensor<1x3x5x64xf32>) {
  // expected-error@+2 {{attention_c3: the leading dimensions must be equal, but for q's heads}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.attention %q, %k, %v : (tensor<1x8x5x64xf32>, tensor<1x3x5x64xf32>, tensor<1x3x5x64xf32>) -> tensor<1x8x5x64xf32>
  return
}

// -----

func.func @f(%q: tensor<5x64xf32>, %k: tensor<7x64xf32>, %v: tensor<7x64xf32>, %m: tensor<5x6xf32>) {
  // expected-error@+2 {{attention_c4: mask must be bool or have q's element type and broadcast to [5, 7], found f32[5, 6]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = nn.attention %q, %k, %v mask %m : (tensor<5x64xf32>, tensor<7x64xf32>, tensor<7x64xf32>, tensor<5x6xf32>) -> tensor<5x64xf32>
  return
}
