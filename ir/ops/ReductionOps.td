// Reductions over dimensions. Each is described as a monoid (ReductionOpInterface), from which backends build loops.
#ifndef NNCC_IR_OPS_REDUCTIONOPS_TD
#define NNCC_IR_OPS_REDUCTIONOPS_TD

include "ir/NNBase.td"
include "ir/NNInterfaces.td"

class NN_ReduceOp<string mnemonic, string text, Type type = NN_Tensor>
    : NN_InferredOp<mnemonic, [DeclareOpInterfaceMethods<NN_ReductionOpInterface>]> {
  let summary = text;
  let description = [{
    The reduced dimensions vanish, or have extent 1 with `keepdims`. f16 and bf16 accumulate in f32.

    ```mlir
    %y = nn.}] # mnemonic # [{ %x {axes = array<i64: 1>, keepdims} : tensor<4x8xf32> -> tensor<4x1xf32>
    ```
    `reduce_c1`: axes are dimensions of x, in ascending order, each at most once.
  }];
  let arguments = (ins type:$x, DenseI64ArrayAttr:$axes, UnitAttr:$keepdims);
  let results = (outs type:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def NN_ReduceSumOp : NN_ReduceOp<"reduce_sum", "Sum over dimensions; 0 over none">;
def NN_ReduceMeanOp : NN_ReduceOp<"reduce_mean", "Mean over dimensions; NaN over no element", NN_FloatTensor>;
def NN_ReduceProdOp : NN_ReduceOp<"reduce_prod", "Product over dimensions; 1 over none">;
def NN_ReduceMaxOp : NN_ReduceOp<"reduce_max", "Largest value over dimensions; NaN if any is NaN, the least value of the type over none">;
def NN_ReduceMinOp : NN_ReduceOp<"reduce_min", "Smallest value over dimensions; NaN if any is NaN, the greatest value of the type over none">;

class NN_ArgReduceOp<string mnemonic, string text>
    : NN_InferredOp<mnemonic, [DeclareOpInterfaceMethods<NN_ReductionOpInterface>]> {
  let summary = text;
  let description = [{
    The first of equal values counts, and a NaN wins over everything.

    ```mlir
    %y = nn.}] # mnemonic # [{ %x {axis = 1} : tensor<4x8xf32> -> tensor<4xi64>
    ```
    `arg_reduce_c1`: axis is a dimension of x.
    `arg_reduce_c2`: that dimension is not empty.
  }];
  let arguments = (ins NN_Tensor:$x, I64Attr:$axis, UnitAttr:$keepdims);
  let results = (outs NN_IndexTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def NN_ArgMaxOp : NN_ArgReduceOp<"argmax", "Position of the largest value along a dimension">;
def NN_ArgMinOp : NN_ArgReduceOp<"argmin", "Position of the smallest value along a dimension">;

#endif // NNCC_IR_OPS_REDUCTIONOPS_TD
