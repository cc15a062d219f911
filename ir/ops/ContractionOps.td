// Contractions: ops whose cost is a sum of products over a contracted index. They are anchors of kernels.
#ifndef NNCC_IR_OPS_CONTRACTIONOPS_TD
#define NNCC_IR_OPS_CONTRACTIONOPS_TD

include "ir/NNBase.td"

def NN_MatmulOp : NN_InferredOp<"matmul"> {
  let summary = "Matrix product, batched with broadcasting, with an optional bias";
  let description = [{
    result[..., m, n] = sum over k of lhs[..., m, k] * rhs[..., k, n] (+ bias[n]). `transpose_lhs` and `transpose_rhs` read the
    last two dimensions of an operand swapped; a linear layer is `transpose_rhs` with the weight N x K. The leading
    dimensions broadcast as in NumPy; a rank-1 operand is not accepted.

    ```mlir
    %y = nn.matmul %x, %w bias %b {transpose_rhs} : (tensor<8x784xf32>, tensor<64x784xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```
    `matmul_c1`: both operands have rank 2 or more and one element type.
    `matmul_c2`: the contracted dimensions agree.
    `matmul_c3`: the leading dimensions broadcast.
    `matmul_c4`: bias has shape N.
  }];
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs, Optional<NN_Tensor>:$bias, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_ConvOp : NN_InferredOp<"conv"> {
  let summary = "Convolution over 1, 2 or 3 spatial dimensions, with groups and an optional bias";
  let description = [{
    x is [N, C, spatial...], weight is [O, C / groups, kernel...], bias is [O]. An output position p reads input positions
    p * stride + k * dilation - pad_begin; positions outside the input read as zero.

    ```mlir
    %y = nn.conv %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>,
                                 pads_end = array<i64: 1, 1>, groups = 1 : i64}
       : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
    ```
    `conv_c1`: x has rank 3, 4 or 5, and weight the same rank and element type.
    `conv_c2`: strides, dilations, pads_begin and pads_end have one entry per spatial dimension; strides and dilations are
    positive, pads are not negative.
    `conv_c3`: groups is positive and divides C and O, and the weight has C / groups input channels.
    `conv_c4`: bias has shape O.
    `conv_c5`: the dilated kernel fits into the padded input.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$weight, Optional<NN_FloatTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_begin,
                       DenseI64ArrayAttr:$pads_end, I64Attr:$groups);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = inferredOpDeclarations # [{
    unsigned spatialRank() { return getStrides().size(); }
    ::mlir::RankedTensorType inputType() { return ::llvm::cast<::mlir::RankedTensorType>(getX().getType()); }
    ::mlir::RankedTensorType weightType() { return ::llvm::cast<::mlir::RankedTensorType>(getWeight().getType()); }
    ::mlir::RankedTensorType resultType() { return ::llvm::cast<::mlir::RankedTensorType>(getResult().getType()); }
  }];
}

def NN_ConvTransposeOp : NN_InferredOp<"conv_transpose"> {
  let summary = "Transposed convolution over 1, 2 or 3 spatial dimensions, with groups and an optional bias";
  let description = [{
    The gradient of nn.conv with respect to its input: x is [N, C, spatial...], weight is [C, O / groups, kernel...], bias is
    [O]. Input position i adds x[i] * weight[k] to output position i * stride + k * dilation - pad_begin. An output extent is
    (in - 1) * stride - pad_begin - pad_end + dilation * (kernel - 1) + output_padding + 1.

    ```mlir
    %y = nn.conv_transpose %x, %w bias %b {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 1, 1>,
                                           pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>}
       : (tensor<1x16x4x4xf32>, tensor<16x8x3x3xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
    ```
    `conv_transpose_c1`: x has rank 3, 4 or 5, and a static weight the same rank and element type.
    `conv_transpose_c2`: strides, dilations, pads_begin and pads_end have one entry per spatial dimension; strides and
    dilations are positive, pads are not negative.
    `conv_transpose_c3`: output_padding has one entry per spatial dimension, not negative and smaller than the stride or the
    dilation.
    `conv_transpose_c4`: groups is positive and divides C, and the weight has C input channels.
    `conv_transpose_c5`: bias has shape O.
    `conv_transpose_c6`: the result is not empty.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$weight, Optional<NN_FloatTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_begin,
                       DenseI64ArrayAttr:$pads_end, DenseI64ArrayAttr:$output_padding, I64Attr:$groups);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

#endif // NNCC_IR_OPS_CONTRACTIONOPS_TD
