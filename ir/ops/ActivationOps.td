// Activations: the elementwise ops that networks put between layers. Formulas in ActivationOps.cpp.
#ifndef NNCC_IR_OPS_ACTIVATIONOPS_TD
#define NNCC_IR_OPS_ACTIVATIONOPS_TD

include "ir/ops/ElementwiseOps.td"

def NN_ReluOp : NN_UnaryOp<"relu", NN_FloatTensor, (ins), 1> {
  let summary = "max(x, 0); NaN stays NaN";
  let description = [{
    ```mlir
    %y = nn.relu %x : tensor<4x8xf32>
    ```
  }];
}

def NN_LeakyReluOp : NN_UnaryOp<"leaky_relu", NN_FloatTensor, (ins DefaultValuedAttr<F64Attr, "0.01">:$alpha)> {
  let summary = "x from zero upwards, alpha * x below";
  let description = [{
    ```mlir
    %y = nn.leaky_relu %x {alpha = 0.1} : tensor<4x8xf32>
    ```
  }];
}

def NN_PReluOp : NN_BinaryOp<"prelu", NN_FloatTensor> {
  let summary = "lhs from zero upwards, rhs * lhs below, with broadcasting";
  let description = [{
    rhs is the learned slope. A slope per channel has shape C x 1 x 1 for a 4-d lhs, so that it meets dimension 1.

    ```mlir
    %y = nn.prelu %x, %slope : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_EluOp : NN_UnaryOp<"elu", NN_FloatTensor, (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)> {
  let summary = "x above zero, alpha * (exp(x) - 1) below";
  let description = [{
    ```mlir
    %y = nn.elu %x {alpha = 0.5} : tensor<4x8xf32>
    ```
  }];
}

def NN_SeluOp : NN_FunctionOp<"selu", "ELU with the alpha and scale of self-normalising networks">;

def NN_CeluOp : NN_UnaryOp<"celu", NN_FloatTensor, (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)> {
  let summary = "x above zero, alpha * (exp(x / alpha) - 1) below";
  let description = [{
    ```mlir
    %y = nn.celu %x {alpha = 2.0} : tensor<4x8xf32>
    ```
    `celu_c1`: alpha is not zero.
  }];
  let hasVerifier = 1;
}

def NN_GeluOp : NN_UnaryOp<"gelu", NN_FloatTensor, (ins UnitAttr:$tanh_approximation)> {
  let summary = "x times the normal distribution function of x";
  let description = [{
    0.5 * x * (1 + erf(x / sqrt(2))), or, with `tanh_approximation`, 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).

    ```mlir
    %y = nn.gelu %x {tanh_approximation} : tensor<4x8xf32>
    ```
  }];
}

def NN_SigmoidOp : NN_FunctionOp<"sigmoid", "1 / (1 + exp(-x))">;
def NN_SiluOp : NN_FunctionOp<"silu", "x * sigmoid(x)">;
def NN_TanhOp : NN_FunctionOp<"tanh", "Hyperbolic tangent">;
def NN_SoftsignOp : NN_FunctionOp<"softsign", "x / (1 + |x|)">;
def NN_MishOp : NN_FunctionOp<"mish", "x * tanh(softplus(x))">;

def NN_SoftplusOp : NN_UnaryOp<"softplus", NN_FloatTensor, (ins DefaultValuedAttr<F64Attr, "1.0">:$beta)> {
  let summary = "log(1 + exp(beta * x)) / beta, without overflow";
  let description = [{
    ```mlir
    %y = nn.softplus %x {beta = 2.0} : tensor<4x8xf32>
    ```
    `softplus_c1`: beta is not zero.
  }];
  let hasVerifier = 1;
}

def NN_HardSigmoidOp : NN_UnaryOp<"hard_sigmoid", NN_FloatTensor,
    (ins DefaultValuedAttr<F64Attr, "1.0 / 6.0">:$alpha, DefaultValuedAttr<F64Attr, "0.5">:$beta)> {
  let summary = "alpha * x + beta, clipped to 0..1";
  let description = [{
    ```mlir
    %y = nn.hard_sigmoid %x {alpha = 0.2} : tensor<4x8xf32>
    ```
  }];
}

def NN_HardSwishOp : NN_FunctionOp<"hard_swish", "x * clip(x + 3, 0, 6) / 6">;

def NN_ClipOp : NN_UnaryOp<"clip", NN_Tensor, (ins OptionalAttr<F64Attr>:$min, OptionalAttr<F64Attr>:$max), 1> {
  let summary = "x limited to min..max; NaN stays NaN";
  let description = [{
    A missing bound does not limit. ReLU6 is min 0 and max 6, hard tanh is -1 and 1. For integers the bounds are converted
    as nn.cast does. When min exceeds max, the result is max.

    ```mlir
    %y = nn.clip %x {max = 6.0, min = 0.0} : tensor<4x8xf32>
    ```
  }];
}

def NN_DropoutOp : NN_UnaryOp<"dropout", NN_FloatTensor, (ins F64Attr:$p), 1> {
  let summary = "Each element is zero with probability p while training; x at inference";
  let description = [{
    ```mlir
    %y = nn.dropout %x {p = 0.5} : tensor<4x8xf32>
    ```
    `dropout_c1`: p lies in 0..1.
  }];
  let hasVerifier = 1;
}

#endif // NNCC_IR_OPS_ACTIVATIONOPS_TD
