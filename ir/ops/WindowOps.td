// Windows that slide over the spatial dimensions: pooling.
#ifndef NNCC_IR_OPS_WINDOWOPS_TD
#define NNCC_IR_OPS_WINDOWOPS_TD

include "ir/NNBase.td"

class NN_PoolOp<string mnemonic, dag extraArguments> : NN_InferredOp<mnemonic> {
  let arguments = !con((ins NN_Tensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                            DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                            UnitAttr:$ceil_mode), extraArguments);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def NN_MaxPoolOp : NN_PoolOp<"max_pool", (ins)> {
  let summary = "Largest value of each window; padding never wins and a NaN in the window does";
  let description = [{
    x is [N, C, spatial...] with 1, 2 or 3 spatial dimensions. `ceil_mode` lets a last, incomplete window start inside the
    input or its leading padding, as in PyTorch.

    ```mlir
    %y = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                         pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<1x16x8x8xf32> -> tensor<1x16x4x4xf32>
    ```
    `pool_c1`: x has rank 3, 4 or 5.
    `pool_c2`: kernel, strides, dilations, pads_begin and pads_end have one entry per spatial dimension; kernel, strides and
    dilations are positive, pads are not negative and smaller than the dilated kernel.
    `pool_c3`: the dilated kernel fits into the padded input.
  }];
}

def NN_AvgPoolOp : NN_PoolOp<"avg_pool", (ins UnitAttr:$count_include_pad)> {
  let summary = "Mean of each window";
  let description = [{
    As nn.max_pool, with the mean over the positions inside the input, or, with `count_include_pad`, over the positions inside
    the padded input.

    ```mlir
    %y = nn.avg_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                         pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<1x16x8x8xf32> -> tensor<1x16x4x4xf32>
    ```
    Constraints: `pool_c1`, `pool_c2`, `pool_c3`.
  }];
}

class NN_AdaptivePoolOp<string mnemonic, string text> : NN_InferredOp<mnemonic> {
  let summary = text;
  let description = [{
    x is [N, C, spatial...] with 1, 2 or 3 spatial dimensions, of extents `in`; `output_size` holds the result's extents
    `out`. Position i of the result covers positions i * in floordiv out up to, not including, (i + 1) * in ceildiv out of x.
    Global pooling has output size 1.

    ```mlir
    %y = nn.}] # mnemonic # [{ %x {output_size = array<i64: 1, 1>} : tensor<1x16x8x8xf32> -> tensor<1x16x1x1xf32>
    ```
    `adaptive_pool_c1`: x has rank 3, 4 or 5.
    `adaptive_pool_c2`: output_size has one positive entry per spatial dimension.
    `adaptive_pool_c3`: no spatial dimension of x is empty.
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$output_size);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def NN_AdaptiveAvgPoolOp : NN_AdaptivePoolOp<"adaptive_avg_pool", "Mean over windows that divide x evenly into a given number of parts">;
def NN_AdaptiveMaxPoolOp : NN_AdaptivePoolOp<"adaptive_max_pool", "Largest value of windows that divide x evenly into a given number of parts">;

#endif // NNCC_IR_OPS_WINDOWOPS_TD
