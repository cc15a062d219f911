// RUN: nncc-opt %s | nncc-opt | FileCheck %s

nn.parameter @w : tensor<2x5xf32>
nn.parameter @b : tensor<2xf32>

// CHECK: nn.state @parameters : tensor<12xf32> {parts = [@w, @b]}
nn.state @parameters : tensor<12xf32> {parts = [@w, @b]}
// CHECK: nn.state @momentum : tensor<12xf32> {init = 1.000000e+00 : f64, like = @parameters}
nn.state @momentum : tensor<12xf32> {init = 1.0 : f64, like = @parameters}
// CHECK: nn.state @step : tensor<i64>
nn.state @step : tensor<i64>
