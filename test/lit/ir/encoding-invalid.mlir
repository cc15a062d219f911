// What an encoding refuses.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{the type has 2 dynamic dimensions, but its encoding names 1}}
func.func private @dims(tensor<?x?xf32, #nn.enc<[N]>>)

// -----

// expected-error@+1 {{a dynamic dimension needs a name, found 4}}
func.func private @constant(tensor<?xf32, #nn.enc<[4]>>)

// -----

// expected-error@+1 {{order must be a permutation of 0..3}}
func.func private @twice(tensor<1x2x3x4xf32, #nn.enc<[], order = [0, 2, 2, 1]>>)

// -----

// expected-error@+1 {{order has 2 entries for a tensor of rank 3}}
func.func private @rank(tensor<1x2x3xf32, #nn.enc<[], order = [1, 0]>>)

// -----

// expected-error@+1 {{the range of dim "N" is empty or negative: 8..1}}
module attributes {nn.dims = [#nn.dim<"N", 8, 1>]} {}

// -----

// expected-error@+1 {{unknown initialiser 'gauss'; known: zeros, ones, constant, uniform, normal}}
nn.parameter @w : tensor<2xf32> {init = #nn.init<gauss, 0.0, 1.0>}
