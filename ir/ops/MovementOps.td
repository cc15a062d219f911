// Movement: ops that compute nothing, but place elements elsewhere. Each states its index map once (MovementOpInterface).
#ifndef NNCC_IR_OPS_MOVEMENTOPS_TD
#define NNCC_IR_OPS_MOVEMENTOPS_TD

include "ir/NNEnums.td"
include "ir/NNInterfaces.td"

// A movement whose result type follows from operands and attributes.
class NN_InferredMovementOp<string mnemonic>
    : NN_InferredOp<mnemonic, [DeclareOpInterfaceMethods<NN_MovementOpInterface>]>;

// A movement whose result type is what the user asks for.
class NN_TypedMovementOp<string mnemonic>
    : NN_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<NN_MovementOpInterface>]> {
  let arguments = (ins NN_Tensor:$x);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def NN_ReshapeOp : NN_TypedMovementOp<"reshape"> {
  let summary = "The same elements, in row-major order of the logical dimensions, under another shape";
  let description = [{
    Flatten, squeeze and unsqueeze are reshapes.

    ```mlir
    %y = nn.reshape %x : tensor<?x4x8xf32, #nn.enc<[N]>> -> tensor<?x32xf32, #nn.enc<[N]>>
    ```
    `reshape_c1`: operand and result have one element type.
    `reshape_c2`: operand and result have the same number of elements, for every value of the named dims.
  }];
  let hasFolder = 1;
}

def NN_ExpandOp : NN_TypedMovementOp<"expand"> {
  let summary = "Broadcast to the result's shape";
  let description = [{
    ```mlir
    %y = nn.expand %x : tensor<8x1xf32> -> tensor<4x8x16xf32>
    ```
    `expand_c1`: operand and result have one element type.
    `expand_c2`: the operand's shape broadcasts to the result's, which it does not widen.
  }];
  let hasFolder = 1;
}

def NN_TransposeOp : NN_InferredMovementOp<"transpose"> {
  let summary = "Dimensions in another order";
  let description = [{
    Dimension d of the result is dimension permutation[d] of x.

    ```mlir
    %y = nn.transpose %x {permutation = array<i64: 0, 2, 1>} : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
    ```
    `transpose_c1`: permutation holds each of x's dimensions once.
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}

def NN_SliceOp : NN_InferredMovementOp<"slice"> {
  let summary = "A strided box of a tensor";
  let description = [{
    Element i of a result dimension is element start + i * step of x's dimension. A negative start counts from the end of the
    dimension, a negative step walks backwards. Size -1 leaves a dimension whole: start 0 and step 1, or start -1 and step -1,
    which reverses it. What is taken from a dynamic dimension has a static size; where the dimension turns out shorter, its
    first or last element is repeated.

    ```mlir
    %y = nn.slice %x {sizes = array<i64: -1, 2>, starts = array<i64: 0, -1>, steps = array<i64: 1, -3>}
       : tensor<?x8xf32, #nn.enc<[N]>> -> tensor<?x2xf32, #nn.enc<[N]>>
    ```
    `slice_c1`: starts, sizes and steps have one entry per dimension.
    `slice_c2`: steps are not zero, and sizes are not negative but for -1.
    `slice_c3`: size -1 goes with start 0 and step 1, or with start -1 and step -1.
    `slice_c4`: every element taken from a static dimension lies within it.
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}

def NN_ConcatOp : NN_InferredMovementOp<"concat"> {
  let summary = "Tensors one after another along one dimension";
  let description = [{
    ```mlir
    %y = nn.concat %a, %b {axis = 1} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    ```
    `concat_c1`: there is at least one operand, and all have one element type and rank.
    `concat_c2`: axis is a dimension of the operands.
    `concat_c3`: all other dimensions are equal.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def NN_PadOp : NN_InferredMovementOp<"pad"> {
  let summary = "A tensor with a border";
  let description = [{
    The border repeats `value` (constant), mirrors the tensor without its edge (reflect), repeats the edge (replicate) or
    continues from the other side (circular).

    ```mlir
    %y = nn.pad %x reflect {begin = array<i64: 0, 1>, end = array<i64: 0, 2>} : tensor<2x3xf32> -> tensor<2x6xf32>
    ```
    `pad_c1`: begin and end have one entry per dimension, none negative.
    `pad_c2`: a static dimension is longer than its reflected border, not shorter than its circular one, and not empty when
    it is replicated.
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$begin, DenseI64ArrayAttr:$end, NN_PadModeAttr:$mode,
                       DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x $mode attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}

def NN_GatherOp : NN_InferredMovementOp<"gather"> {
  let summary = "Slices of x along one dimension, chosen by an index tensor";
  let description = [{
    As numpy.take: the result's shape is x's with dimension `axis` replaced by the shape of `indices`. A negative index counts
    from the end; one outside the dimension ends the run with an error. An embedding is a gather from axis 0.

    ```mlir
    %y = nn.gather %table, %tokens {axis = 0} : (tensor<100x16xf32>, tensor<2x7xi64>) -> tensor<2x7x16xf32>
    ```
    `gather_c1`: axis is a dimension of x.
  }];
  let arguments = (ins NN_Tensor:$x, NN_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x `,` $indices attr-dict `:` functional-type(operands, results)";
}

def NN_ResizeOp : NN_Op<"resize", [Pure, DeclareOpInterfaceMethods<NN_MovementOpInterface>]> {
  let summary = "Interpolation to other spatial extents";
  let description = [{
    x is [N, C, spatial...]. With `in` and `out` the extents of a spatial dimension, position i of the result reads at
    (i + 0.5) * in / out - 0.5 (half_pixel), i * (in - 1) / (out - 1) (align_corners; 0 when out is 1) or i * in / out
    (asymmetric) of x, clamped to x's extent. `linear` weighs the neighbours of that position, `nearest` takes the nearest one: of two equally near ones
    the upper (half_pixel, as PyTorch's nearest-exact) or the lower (align_corners), and the one below for asymmetric, as
    PyTorch's nearest.

    ```mlir
    %y = nn.resize %x linear half_pixel : tensor<1x3x4x4xf32> -> tensor<1x3x8x8xf32>
    ```
    `resize_c1`: x has rank 3, 4 or 5; the result has the same rank, element type, N and C.
    `resize_c2`: linear interpolation needs a floating-point x.
    `resize_c3`: no static spatial extent is zero.
  }];
  let arguments = (ins NN_Tensor:$x, NN_ResizeModeAttr:$mode, NN_ResizeCoordinatesAttr:$coordinates);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x $mode $coordinates attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def NN_IotaOp : NN_Op<"iota", [Pure, DeclareOpInterfaceMethods<NN_MovementOpInterface>]> {
  let summary = "The number of each element in row-major order";
  let description = [{
    ```mlir
    %y = nn.iota : tensor<2x3xi64>
    ```
    gives [[0, 1, 2], [3, 4, 5]].
  }];
  let results = (outs NN_IndexTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif // NNCC_IR_OPS_MOVEMENTOPS_TD
