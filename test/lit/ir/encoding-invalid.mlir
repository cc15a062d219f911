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

// -----

// expected-error@+1 {{a packed layout is for static shapes and has no order beside it}}
func.func private @packed_dynamic(tensor<?x4xf32, #nn.enc<[N], pack = <[0, 4, 1]>>>)

// -----

// expected-error@+1 {{pack loop 1 names dimension 2 of a tensor of rank 2}}
func.func private @pack_rank(tensor<4x4xf32, #nn.enc<[], pack = <[0, 4, 1], [2, 4, 1]>>>)

// -----

// expected-error@+1 {{a pack loop is [dim, extent, step]}}
func.func private @pack_triple(tensor<4x4xf32, #nn.enc<[], pack = <[0, 4, 1], [1, 4]>>>)

// -----

// expected-error@+1 {{a pack loop needs a dim of 0 or more and a positive extent and step, }}
func.func private @pack_step(tensor<4x4xf32, #nn.enc<[], pack = <[0, 4, 1], [1, 4, 0]>>>)

// -----

// expected-error@+1 {{a named dim needs a name}}
module attributes {nn.dims = [#nn.dim<"", 1, 8>]} {}
