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

def NN_ResizeGradientOp : NN_Op<"resize_gradient", [Pure, DeclareOpInterfaceMethods<NN_MovementOpInterface>]> {
  let summary = "The gradient of nn.resize";
  let description = [{
    An element of the result sums what it gave to the positions of nn.resize's result that read it, each with its weight in the
    gradient g. Nothing is scattered and the order of the sums is fixed.

    ```mlir
    %dx = nn.resize_gradient %g linear half_pixel : tensor<1x3x8x8xf32> -> tensor<1x3x4x4xf32>
    ```
    `resize_gradient_c1`: nn.resize of a tensor of the result's type with these attributes has g's type.
    `resize_gradient_c2`: along each dimension a known number of positions read an element, at most 32.
  }];
  let arguments = (ins NN_FloatTensor:$g, NN_ResizeModeAttr:$mode, NN_ResizeCoordinatesAttr:$coordinates);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$g $mode $coordinates attr-dict `:` type($g) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kMostTaps = 32;
    /// The most positions along a dimension that read one element; nothing where that depends on named dims.
    static std::optional<int64_t> tapsOf(::nncc::nn::Dim in, ::nncc::nn::Dim out, ::nncc::nn::ResizeMode mode,
                                         ::nncc::nn::ResizeCoordinates coordinates);
  }];
}

def NN_ShiftOp : NN_InferredOp<"shift", [DeclareOpInterfaceMethods<NN_MovementOpInterface>]> {
  let summary = "What stood one position earlier along a dimension";
  let description = [{
    Position t of the result is position t - 1 of x along `axis`, and position 0 is `first`, or zeros. With `reverse` the dimension
    runs from its end: position t is position t + 1 of x, and the last one is `first`. Recurrent layers see their states so.

    ```mlir
    %before = nn.shift %y first %h0 {axis = 1} : (tensor<2x5x16xf32>, tensor<2x16xf32>) -> tensor<2x5x16xf32>
    ```
    `shift_c1`: axis is a dimension of x.
    `shift_c2`: first has x's element type, and its shape without axis.
  }];
  let arguments = (ins NN_FloatTensor:$x, Optional<NN_FloatTensor>:$first, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x (`first` $first^)? attr-dict `:` functional-type(operands, results)";
}

def NN_LinearScanOp : NN_InferredOp<"linear_scan"> {
  let summary = "s[t] = a[t] * s[t-1] + b[t] along a dimension";
  let description = [{
    s[-1] is `first`, or zeros. With `reverse` the dimension runs from its end, and s[t] = a[t] * s[t+1] + b[t]. The cell states of an
    LSTM are such a scan, and with a = 1 it sums up b.

    ```mlir
    %s = nn.linear_scan %a, %b first %c0 {axis = 1}
       : (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x16xf32>) -> tensor<2x5x16xf32>
    ```
    `linear_scan_c1`: a and b have one shape, of which axis is a dimension.
    `linear_scan_c2`: first has b's shape without axis.
    `linear_scan_c3`: all operands have one element type.
  }];
  let arguments = (ins NN_FloatTensor:$a, NN_FloatTensor:$b, Optional<NN_FloatTensor>:$first, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$a `,` $b (`first` $first^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = inferredOpDeclarations # [{
    /// The result seen as [outer, steps, inner], where `axis` is the middle one.
    struct Extents {
      ::nncc::nn::Dim outer, steps, inner;
    };
    Extents extents();
  }];
}

def NN_RecurrenceGradientOp : NN_InferredOp<"recurrence_gradient", [AttrSizedOperandSegments]> {
  let summary = "The gradient of nn.recurrence, step by step from the last to the first";
  let description = [{
    y, h and c are the gradients of the results of nn.recurrence with this cell, `w_hh` and `reverse`, absent where they are zero.
    The results are the gradients of `projected`, of h0 and, for an LSTM, of c0. With the states known the steps are linear in
    these gradients, and `factors`, each [N, T, H], hold what they are multiplied by. With dh the gradient of the state h[t], which is
    y[t] and what the later steps give, a step computes, for the gradients s of what the gates are computed from:

    - rnn_tanh, rnn_relu, factors (slope): s = dh * slope; h[t-1] gets s w_hh.
    - lstm, factors (i, f, g, o, shown, kept): dc, the gradient of c[t], gets dh * shown; s = [dc * i, dc * f, dc * g, dh * o];
      h[t-1] gets s w_hh, and c[t-1] gets dc * kept.
    - gru, factors (r, z, n, reset, kept): s = [dh * r, dh * z, dh * n]; h[t-1] gets [s_r, s_z, s_n * reset] w_hh + dh * kept.
    - gru_reset_before, the same factors: s_n = dh * n, q = s_n w_hh of gate n; s_r = q * r, s_z = dh * z; h[t-1] gets
      [s_r, s_z] w_hh of gates r and z + q * reset + dh * kept.

    ```mlir
    %dp, %dh0 = nn.recurrence_gradient %w_hh factors (%slope) y %dy rnn_tanh
              : (tensor<16x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
    ```
    `recurrence_gradient_c1`: w_hh is static [G * H, H], and the cell has its number of factors, all [N, T, H].
    `recurrence_gradient_c2`: y is [N, T, H], h and c are [N, H], and c comes with the cell lstm only.
    `recurrence_gradient_c3`: all operands have one element type.
  }];
  let arguments = (ins RankedTensorOf<[F32, F64]>:$w_hh, Variadic<RankedTensorOf<[F32, F64]>>:$factors,
                       Optional<RankedTensorOf<[F32, F64]>>:$y, Optional<RankedTensorOf<[F32, F64]>>:$h,
                       Optional<RankedTensorOf<[F32, F64]>>:$c, NN_RecurrentCellAttr:$cell, UnitAttr:$reverse);
  let results = (outs RankedTensorOf<[F32, F64]>:$projected, RankedTensorOf<[F32, F64]>:$h0,
                      Optional<RankedTensorOf<[F32, F64]>>:$c0);
  let assemblyFormat = [{
    $w_hh `factors` `(` $factors `)` (`y` $y^)? (`h` $h^)? (`c` $c^)? $cell attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = inferredOpDeclarations # [{
    int64_t hiddenSize() { return ::llvm::cast<::mlir::RankedTensorType>(getWHh().getType()).getDimSize(1); }
    static int64_t factorCountOf(::nncc::nn::RecurrentCell cell);
  }];
}

#endif // NNCC_IR_OPS_GRADIENTOPS_TD
