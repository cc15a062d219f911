// RUN: nncc-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{state_c1: needs a static, row-major shape, found 'tensor<?xf32, #nn.enc<[N]>>'}}
nn.state @s : tensor<?xf32, #nn.enc<[N]>>

// -----

// expected-error@+1 {{state_c2: no nn.parameter is named @w}}
nn.state @s : tensor<2xf32> {parts = [@w]}

// -----

nn.parameter @w : tensor<2xf64>
// expected-error@+1 {{state_c2: parameter @w has elements of type 'f64', expected 'f32'}}
nn.state @s : tensor<2xf32> {parts = [@w]}

// -----

nn.parameter @w : tensor<2xf32>
// expected-error@+1 {{state_c2: its parts have 2 elements, its type is 'tensor<3xf32>'}}
nn.state @s : tensor<3xf32> {parts = [@w]}

// -----

nn.state @t : tensor<2xf32>
// expected-error@+1 {{state_c3: no nn.state with parts is named @t}}
nn.state @s : tensor<2xf32> {like = @t}

// -----

nn.parameter @w : tensor<2xf32>
nn.state @t : tensor<2xf32> {parts = [@w]}
// expected-error@+1 {{state_c3: @t has 2 elements, its type is 'tensor<3xf32>'}}
nn.state @s : tensor<3xf32> {like = @t}
