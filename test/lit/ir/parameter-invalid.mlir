// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{parameter_c1: needs a static, row-major shape, found 'tensor<?xf32, #nn.enc<[N]>>'}}
nn.parameter @w : tensor<?xf32, #nn.enc<[N]>>

// -----

// expected-error@+1 {{parameter_c1: its value has type 'tensor<2xf32>', expected 'tensor<3xf32>'}}
nn.parameter @w : tensor<3xf32> = dense<0.0> : tensor<2xf32>
