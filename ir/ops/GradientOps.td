// Ops of differentiation: what asks for gradients, and what only gradients need.
#ifndef NNCC_IR_OPS_GRADIENTOPS_TD
#define NNCC_IR_OPS_GRADIENTOPS_TD

include "ir/ops/ElementwiseOps.td"

def NN_GradientOp : NN_Op<"gradient", [Pure, AttrSizedOperandSegments]> {
  let summary = "Gradients of tensors with respect to values that they depend on";
  let description = [{
    Result i is the sum over `of` of d of[j] / d by[i], contracted with seeds[j]: a vector-Jacobian product. Without seeds there
    is one tensor, a loss of one element, and its seed is 1. A value that no result depends on gets zeros. ExpandGradients
    replaces the op by the ops that compute the gradients, in reverse order of the ops between `by` and `of`.

    ```mlir
    %dw, %db = nn.gradient of (%loss) by (%w, %b)
             : (tensor<f32>, tensor<64x784xf32>, tensor<64xf32>) -> (tensor<64x784xf32>, tensor<64xf32>)
    %dx = nn.gradient of (%y) seeds (%dy) by (%x) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    ```
    `gradient_c1`: without seeds `of` is one tensor of one element.
    `gradient_c2`: there is a seed of the same type for each tensor of `of`.
    `gradient_c3`: the results have the types of `by`.
  }];
  let arguments = (ins Variadic<NN_FloatTensor>:$of, Variadic<NN_FloatTensor>:$seeds, Variadic<NN_FloatTensor>:$by);
  let results = (outs Variadic<NN_FloatTensor>:$gradients);
  let assemblyFormat = [{
    `of` `(` $of `)` (`seeds` `(` $seeds^ `)`)? `by` `(` $by `)` attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_DerivativeOp : NN_ElementwiseOp<"derivative"> {
  let summary = "The derivative of an elementwise op by one of its operands, times the gradient of its result";
  let description = [{
    `wrt` is the operand's number. The operands are those of the op `nn.<of>` with the attributes `with`, then the gradient of that op's result, whose type the
    result has: a gradient by a broadcast operand is summed behind it. The formula is not stated anywhere: it is made from the
    op's own by reverse accumulation over its scalar operations.

    Where a formula has no derivative PyTorch's choice counts: a choice between x < c and not is made as for x < c at x = c (relu
    gives 0 at 0), |x| has 0 at 0, min and max of equal numbers give half to each, and clip lets its ends through.

    ```mlir
    %dx = nn.derivative %x, %dy {of = "gelu", with = {tanh_approximation}, wrt = 0 : i64}
        : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    `derivative_c1`: `of` is an elementwise op of nn that takes the operands but for the last, and its result has the last one's
    type, with floating-point elements.
    `derivative_c2`: `wrt` is the number of an operand with a floating-point element type.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs, StrAttr:$of, I64Attr:$wrt,
                       DefaultValuedAttr<DictionaryAttr, "{}">:$with);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_ConvWeightGradientOp : NN_Op<"conv_weight_gradient", [Pure]> {
  let summary = "The gradient of a convolution's weight";
  let description = [{
    For y = nn.conv(x, w) and the gradient g of y, the result is sum over n and p of g[n, o, p] * x[n, c, p * stride + k * dilation
    - pad_begin], with the shape [O, C / groups, kernel...] of w.

    ```mlir
    %dw = nn.conv_weight_gradient %x, %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>,
                                          pads_end = array<i64: 1, 1>, groups = 1 : i64}
        : (tensor<1x3x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<16x3x3x3xf32>
    ```
    `conv_weight_gradient_c1`: a convolution of x with a weight of the result's type and these attributes has a result of g's type.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$g, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end, I64Attr:$groups);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x `,` $g attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_MaxPoolGradientOp
    : NN_Op<"max_pool_gradient", [Pure, AllTypesMatch<["x", "result"]>, DeclareOpInterfaceMethods<NN_MovementOpInterface>]> {
  let summary = "The gradient of nn.max_pool";
  let description = [{
    Each window gives its element of g, the gradient of nn.max_pool(x), to the first of its largest elements. An element of the
    result looks at the windows that it lies in, so nothing is scattered and the order of the sums is fixed.

    ```mlir
    %dx = nn.max_pool_gradient %x, %g {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                                       pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
        : (tensor<1x16x8x8xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x8x8xf32>
    ```
    `pool_gradient_c1`: nn.max_pool of x with these attributes has g's type.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$g, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                       UnitAttr:$ceil_mode);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x `,` $g attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_AvgPoolGradientOp : NN_Op<"avg_pool_gradient", [Pure, DeclareOpInterfaceMethods<NN_MovementOpInterface>]> {
  let summary = "The gradient of nn.avg_pool";
  let description = [{
    Each window spreads its element of g, the gradient of the result of nn.avg_pool, evenly over the positions that it averaged.

    ```mlir
    %dx = nn.avg_pool_gradient %g {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                                   pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>}
        : tensor<1x16x4x4xf32> -> tensor<1x16x8x8xf32>
    ```
    `pool_gradient_c1`: nn.avg_pool of a tensor of the result's type with these attributes has g's type.
  }];
  let arguments = (ins NN_FloatTensor:$g, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                       UnitAttr:$ceil_mode, UnitAttr:$count_include_pad);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$g attr-dict `:` type($g) `->` type($result)";
  let hasVerifier = 1;
}

def NN_GatherGradientOp : NN_Op<"gather_gradient", [Pure]> {
  let summary = "The gradient of nn.gather by the tensor that it reads";
  let description = [{
    Slice a of the result along `axis` is the sum of those slices of g, the gradient of nn.gather(x, indices), whose index is a. They
    are added in the order of the indices, so the result is the same from run to run. Indices count from the end where they are
    negative, and end the run with an error where they lie outside, as for nn.gather.

    ```mlir
    %dx = nn.gather_gradient %tokens, %g {axis = 0} : (tensor<2x7xi64>, tensor<2x7x16xf32>) -> tensor<100x16xf32>
    ```
    `gather_gradient_c1`: nn.gather from a tensor of the result's type with these indices has g's type.
  }];
  let arguments = (ins NN_IndexTensor:$indices, RankedTensorOf<[F32, F64]>:$g, I64Attr:$axis);
  let results = (outs RankedTensorOf<[F32, F64]>:$result);
  let assemblyFormat = "$indices `,` $g attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The result seen as [outer, entries, inner], where `axis` is the middle one.
    struct Extents {
      ::nncc::nn::Dim outer, entries, inner, indices;
    };
    Extents extents();
  }];
}

#endif // NNCC_IR_OPS_GRADIENTOPS_TD
