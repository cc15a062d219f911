// Normalisations and softmax. Each is one kernel: a reduction and what is done with its result.
#ifndef NNCC_IR_OPS_NORMOPS_TD
#define NNCC_IR_OPS_NORMOPS_TD

include "ir/NNBase.td"

def NN_BatchNormOp : NN_InferredOp<"batch_norm"> {
  let summary = "Batch normalisation with given statistics";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) * scale + bias, with one entry of each per channel (dimension 1). With `batch_statistics`
    mean and variance are those of x itself, over all dimensions but the channels, and the gradient of x passes through them.
    `momentum` is the weight of a batch's statistics in the running ones (passes/ApplyTrainingMode.cpp).

    ```mlir
    %y = nn.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 1.0e-05}
       : (tensor<1x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
    ```
    `batch_norm_c1`: x has rank 2 or more.
    `batch_norm_c2`: scale, bias, mean and variance have shape C and x's element type.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale, NN_FloatTensor:$bias, NN_FloatTensor:$mean,
                       NN_FloatTensor:$variance, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon,
                       DefaultValuedAttr<F64Attr, "0.1">:$momentum, UnitAttr:$batch_statistics);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $scale `,` $bias `,` $mean `,` $variance attr-dict `:` functional-type(operands, results)
  }];
}

// Operands and syntax of the norms that compute their own statistics.
class NN_AffineNormOp<string mnemonic, dag attributes> : NN_InferredOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = !con((ins NN_FloatTensor:$x, Optional<NN_FloatTensor>:$scale, Optional<NN_FloatTensor>:$bias),
                       attributes);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x (`scale` $scale^)? (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_LayerNormOp : NN_AffineNormOp<"layer_norm",
    (ins I64Attr:$dims, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon)> {
  let summary = "Normalisation over the last dimensions";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and biased variance over the last `dims` dimensions.

    ```mlir
    %y = nn.layer_norm %x scale %s bias %b {dims = 1} : (tensor<4x8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<4x8x64xf32>
    ```
    `layer_norm_c1`: dims is at least 1 and at most x's rank.
    `layer_norm_c2`: scale and bias have the shape of the last `dims` dimensions and x's element type.
  }];
}

def NN_RmsNormOp : NN_InferredOp<"rms_norm"> {
  let summary = "Division by the root of the mean square over the last dimensions";
  let description = [{
    x / sqrt(mean(x^2) + epsilon) * scale, with the mean over the last `dims` dimensions.

    ```mlir
    %y = nn.rms_norm %x scale %s {dims = 1} : (tensor<4x8x64xf32>, tensor<64xf32>) -> tensor<4x8x64xf32>
    ```
    `rms_norm_c1`: dims is at least 1 and at most x's rank.
    `rms_norm_c2`: scale has the shape of the last `dims` dimensions and x's element type.
  }];
  let arguments = (ins NN_FloatTensor:$x, Optional<NN_FloatTensor>:$scale, I64Attr:$dims,
                       DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x (`scale` $scale^)? attr-dict `:` functional-type(operands, results)";
}

def NN_GroupNormOp : NN_AffineNormOp<"group_norm",
    (ins I64Attr:$groups, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon)> {
  let summary = "Normalisation over groups of channels and the spatial dimensions";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and biased variance over each of `groups` equal runs of
    channels (dimension 1) and all later dimensions; scale and bias have one entry per channel.

    ```mlir
    %y = nn.group_norm %x scale %s bias %b {groups = 4} : (tensor<1x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
    ```
    `group_norm_c1`: x has rank 2 or more and a static number of channels that groups divides.
    `group_norm_c2`: scale and bias have shape C and x's element type.
  }];
}

def NN_InstanceNormOp : NN_AffineNormOp<"instance_norm", (ins DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon)> {
  let summary = "Normalisation of each channel over the spatial dimensions";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and biased variance over the dimensions after 1.

    ```mlir
    %y = nn.instance_norm %x scale %s bias %b : (tensor<1x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
    ```
    `instance_norm_c1`: x has rank 3 or more.
    `instance_norm_c2`: scale and bias have shape C and x's element type.
  }];
}

// The result has x's type, which the text form names once.
class NN_SoftmaxLikeOp<string mnemonic> : NN_InferredOp<mnemonic, [AllTypesMatch<["x", "result"]>]> {
  let arguments = (ins NN_FloatTensor:$x, I64Attr:$axis);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def NN_SoftmaxOp : NN_SoftmaxLikeOp<"softmax"> {
  let summary = "exp(x) / sum(exp(x)) along one dimension, computed from x - max(x)";
  let description = [{
    ```mlir
    %y = nn.softmax %x {axis = 1} : tensor<4x8xf32>
    ```
    `softmax_c1`: axis is a dimension of x.
  }];
}

def NN_LogSoftmaxOp : NN_SoftmaxLikeOp<"log_softmax"> {
  let summary = "log(softmax(x)) along one dimension, computed as x - max(x) - log(sum(exp(x - max(x))))";
  let description = [{
    ```mlir
    %y = nn.log_softmax %x {axis = 1} : tensor<4x8xf32>
    ```
    Constraints: `softmax_c1`.
  }];
}

#endif // NNCC_IR_OPS_NORMOPS_TD
