// nn.parameter: its text form, with an initialiser and with a value.
// RUN: nncc-opt %s | nncc-opt | FileCheck %s

// CHECK: nn.parameter @block1.conv.weight : tensor<16x1x3x3xf32> {init = #nn.init<uniform, -3.000000e-01, 3.000000e-01>}
nn.parameter @block1.conv.weight : tensor<16x1x3x3xf32> {init = #nn.init<uniform, -0.3, 0.3>}

// CHECK: nn.parameter @bias : tensor<2xf32> = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
nn.parameter @bias : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
