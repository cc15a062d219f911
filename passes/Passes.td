// The passes of nncc. Each has a file of its own, passes/<Name>.cpp, and a test, test/lit/passes/<flag>.mlir. Pipeline.cpp says
// in which order they run and why.
#ifndef NNCC_PASSES_PASSES_TD
#define NNCC_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def AddGradients : Pass<"add-gradients", "::mlir::func::FuncOp"> {
  let summary = "Make a model compute the gradients of its inputs and parameters too, from given gradients of its outputs";
  let description = [{
    @infer gets a further input `grad.<output>` for each floating-point output, and a further output `grad.<name>` for each
    floating-point input and parameter: its vector-Jacobian product.
  }];
}

def ExpandGradients : Pass<"expand-gradients", "::mlir::func::FuncOp"> {
  let summary = "Replace nn.gradient by the ops that compute the gradients";
  let description = [{
    Reverse-mode differentiation. Every op on a way from the values to what is differentiated gives the gradients of its operands
    (DifferentiableOpInterface); where several ops read a value their parts are summed. An op without a rule is an error that
    names it and its place in the model.
  }];
}

def BuildTrainStep : Pass<"build-train-step", "::mlir::ModuleOp"> {
  let summary = "Make @train_step of @evaluate: with gradients and the update of all parameters";
  let description = [{
    The parameters that train lie one behind the other in the state `train.parameters`, a group for those with and one for those
    without weight decay, so that one kernel updates all of a group. The gradients are concatenated alike; clipping, optimizer and
    schedule (the module's attribute `nn.train`) are computed on them with PyTorch's formulas. The states `train.step`, `train.lr`,
    `train.epochs` and `train.steps_per_epoch` are what the schedule reads; the caller may set them between steps. With `accumulate = K`
    the mean of the gradients of K batches makes an update: `train.accumulated_gradient` is their sum so far, `train.micro_step` counts
    them, and all other states change with the last alone.
  }];
}

def ApplyMixedPrecision : Pass<"apply-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Let @train_step compute in bf16 or f16, with parameters and update in f32";
  let description = [{
    With `precision = bf16` or `f16` in the module's attribute `nn.train`, contractions, attention and recurrent layers of the forward
    pass get narrow operands and results; softmax, sums, means, powers, exponentials and logarithms get f32; norms compute in f32 and give
    what their input was; other ops are as wide as the widest of their operands, constants of one number aside. Each value is converted
    once, parameters too, which stay f32. Loss, metrics and states keep their types. @evaluate is left as it is.
  }];
}

def ApplyTrainingMode : Pass<"apply-training-mode", "::mlir::ModuleOp"> {
  let summary = "Give batch norms and dropouts of @train_step the meaning that they have in training";
  let description = [{
    A batch norm whose mean and variance are parameters takes those of the batch instead, and @train_step gets the running ones as
    states, which move towards the batch's by `momentum`, the variance as the unbiased one; where the train section freezes these parameters, the norm stays as inference has
    it. Dropout zeroes elements by nn.random_uniform,
    a function of the states `train.seed` and `train.step`, of the dropout's number and of the element's, and scales the others.
  }];
}

def RemoveDropout : Pass<"remove-dropout", "::mlir::func::FuncOp"> {
  let summary = "Replace dropout by its operand, as inference computes it";
}

def FoldBatchNorm : Pass<"fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Put batch normalisation into the contraction before it, or make it a multiplication and an addition";
  let description = [{
    With factor = scale / sqrt(variance + epsilon) and shift = bias - mean * factor, batch normalisation is x * factor + shift per
    channel. Where x is the result of a convolution or matrix product that nothing else reads, and all weights depend on
    parameters only, the weight is multiplied by factor and the bias becomes bias * factor + shift. f16 and bf16 weights are
    combined in f32.
  }];
}

def DecomposeOps : Pass<"decompose-ops", "::mlir::func::FuncOp"> {
  let summary = "Rewrite ops that no kernel implements into ops that have one";
  let description = [{
    nn.rnn, nn.lstm and nn.gru become one nn.matmul for the inputs of all time steps and an nn.recurrence; an nn.matmul with
    `transpose_lhs` gets an nn.transpose, and nn.conv_weight_gradient becomes matrix products. With `multiplies-transposed` those
    that kernels compute as they are stay: of f32 and f64, and with `multiplies-transposed-halves` of f16 and bf16 too.
  }];
  let options = [
    Option<"multipliesTransposed", "multiplies-transposed", "bool", "false",
           "Kernels contract the rows of a left operand">,
    Option<"multipliesTransposedHalves", "multiplies-transposed-halves", "bool", "false",
           "Those of f16 and bf16 as well">
  ];
}

def LowerConvTranspose : Pass<"lower-conv-transpose", "::mlir::func::FuncOp"> {
  let summary = "Rewrite transposed convolutions as convolutions";
  let description = [{
    A transposed convolution of stride s becomes a convolution of stride 1 with s^2 times the output channels (in two dimensions), one
    set for each position of a result s times as large, and a movement that puts them side by side. With stride 1 it is the
    convolution with the mirrored kernel. What remains a transposed convolution: dynamic spatial dimensions, strides together with
    dilations, and pads that leave out all of the input.
  }];
}

def AssignLayouts : Pass<"assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Put the tensors around convolutions and pools into channels-last order";
  let description = [{
    Channels-last makes the channels of one pixel contiguous: a vector register holds channels, every channel count that is a
    multiple of the lanes runs without masks, a 1x1 convolution is a plain matrix product, and an elementwise epilogue reads its
    per-channel operands as they lie. Convolutions and pools ask for it; what flows between them (elementwise ops, concatenation
    and the like) takes the order of its operands, so `nn.reorder` appears only at the borders: model inputs, outputs, and ops
    that need the row-major sequence, such as flatten. A convolution with few input channels reads its input as it comes
    (`readsRowMajor`).
  }];
}

def FoldFlatten : Pass<"fold-flatten", "::mlir::func::FuncOp"> {
  let summary = "Permute the weight of a linear layer instead of reordering the flattened image before it";
  let description = [{
    matmul(reshape(reorder(x)), w) with a channels-last x and a w that depends on parameters only becomes a product of x as it lies
    in memory, through views, and of w with its K rows in that sequence.
  }];
}

def PackWeights : Pass<"pack-weights", "::mlir::func::FuncOp"> {
  let summary = "Put weights of convolutions and matrix products into the layout that the kernels read";
  let description = [{
    A weight that depends on parameters only is reordered to panels of output columns (`panelsOf`), a depthwise one to channels innermost (`depthwiseTaps`), so that
    the inner loop of the kernel reads it with unit stride and without masks. The hidden weight of an nn.recurrence is transposed in
    memory for the same reason. OutlinePrepare then moves the reorder out of the
    run. A matrix that is an activation stays row-major: its kernel packs it in scratch memory. A convolution's weight that is one
    is reordered in the run.
  }];
  let options = [
    Option<"columns", "columns", "int64_t", "16", "Widest panel, in output columns of f32">,
    Option<"lanes", "lanes", "int64_t", "8", "f32 elements of a vector register; panels are multiples of it">,
  ];
}

def OutlinePrepare : Pass<"outline-prepare", "::mlir::ModuleOp"> {
  let summary = "Move what depends on parameters alone from @infer into @prepare";
  let description = [{
    @prepare runs once, when the weights are known; its results are further arguments of @infer, marked `nn.constant = "name"` on
    both sides. A parameter that @infer reads as it is, or through a view, stays an `nn.get_parameter` there. A constant that kernels
    cannot hold in their code (`isHeldInCode`) is prepared like any other value.
  }];
}

def FormKernels : Pass<"form-kernels", "::mlir::func::FuncOp"> {
  let summary = "Group ops into nn.kernel, the unit of code generation";
  let description = [{
    Greedy in program order; fusion saves writing a tensor to memory and reading it back, and is refused where it would compute
    an element more than once or ask for an operand that the emitters cannot index:
    - A contraction (conv, matmul) takes the elementwise ops that follow as its epilogue while each is the only reader of the
      result so far, keeps its shape and order, and reads other operands as a scalar, per channel, or in full (`accessOf`).
    - A two-dimensional pool follows into the kernel of a convolution when its windows do not overlap: then each convolution
      row is computed once and never leaves the kernel's scratch memory.
    - Elementwise ops and movements (slice, pad, concat, transpose, ...) join the ones before that they alone read: such a kernel
      computes each element of its result on demand. A movement that reads elements more than once (expand, gather, resize, gradients of pools) does
      not take in its producers.
    - A chain of elementwise ops takes in chains before it that it alone reads, several times too. What the function returns of them
      is another result of the kernel.
    - Reductions and pools take in the elementwise ops before them under the same condition; they, norms and softmax take the
      elementwise ops that follow.
    - A slice, transpose or reshape that all its readers can address through strides (`readsThroughStrides`) is carried out by
      none: each reader has it in its body and reads the memory before it. A product or an attention stores its result where a
      transpose behind it would put it (`writesThroughStrides`).
    - Every other op is a kernel of its own; views stay outside (ir/View.h).
  }];
}

def RecomputeValues : Pass<"recompute-values", "::mlir::func::FuncOp"> {
  let summary = "Compute values again where they are read, when that is cheaper than to store them";
  let description = [{
    A kernel of @train_step that computes each element by itself (a centred activation, a dropout mask, positions) goes into all
    kernels that read its result, if each can compute it where it reads: in elementwise kernels, before reductions, in the epilogue of
    contractions. It does so when fewer bytes are moved, by more than the repeated operations cost, and no more bytes are kept for the
    gradients than before, at the batch of the train section.
  }];
  let statistics = [Statistic<"recomputedValues", "recomputed-values", "Values that are computed where they are read">];
}

def MergeKernels : Pass<"merge-kernels", "::mlir::func::FuncOp"> {
  let summary = "Make one kernel with several results of small elementwise kernels";
  let description = [{
    Batch norms and optimizers compute numbers per channel, or single ones, in chains that fork: each kernel takes longer to start than to
    run. Elementwise kernels of @train_step whose results have one type, of at most 64 KiB, become one where the last of them stands, when
    nothing in between reads what the others compute.
  }];
  let statistics = [Statistic<"mergedKernels", "merged-kernels", "Kernels that went into another">];
}

def PlaceConcats : Pass<"place-concats", "::mlir::func::FuncOp"> {
  let summary = "Let kernels write their results straight into slices of a concatenation";
  let description = [{
    A kernel whose result is concatenated gets the type of the concatenated tensor, ends with `nn.insert`, and overwrites in place
    what the kernels before it left; the concatenation disappears. It takes a kernel that can write at the slice's strides
    (`writesThroughStrides`), and readers of the part, if there are any besides, that can read there (`readsThroughStrides`). A part of a
    vector may be a reshape of a kernel's result that nothing else reads, as the gradients of all parameters are. Other
    parts, inputs and parameters among them, are copied by a kernel each. A concatenation of which no part can be written in place
    stays as it is.
  }];
}

def FitMemoryBudget : Pass<"fit-memory-budget", "::mlir::func::FuncOp"> {
  let summary = "Run kernels of @train_step again rather than keep their results, until its memory fits a budget";
  let description = [{
    Of the values that are kept for the backward pass, some are dropped, and the kernels that computed them run again before they are
    read: those that save most bytes for their cost, until the arena that the runtime will plan, at the batch of the train section,
    fits `budget` bytes. Copies of kernels are marked `nn.recomputed`. Where nothing fits, an error says how much is needed.
  }];
  let options = [
    Option<"budget", "budget", "int64_t", "0", "Bytes of the arena of a training step; 0: as many as it takes">
  ];
  let statistics = [Statistic<"recomputedKernels", "recomputed-kernels", "Kernels that run again">];
}

def PlaceStates : Pass<"place-states", "::mlir::func::FuncOp"> {
  let summary = "Make sure that kernels may write the next value of a state over the present one";
  let description = [{
    The next value of a state (`nn.state`) lies in the memory of the present one. Where a kernel that runs later reads the present
    value, or the writing kernel itself reads it at another index than it writes, the next value is copied at the end of the function.
  }];
}

def PlanBuffers : Pass<"plan-buffers", "::mlir::func::FuncOp"> {
  let summary = "Let kernels write their result over an operand where nobody reads it later";
  let description = [{
    A kernel gets `in_place` when the operand is an intermediate that it reads last, has the result's shape, order and element
    size, and is read only at the index that is written: by an elementwise kernel, or as a residual in the epilogue of a
    contraction. Views need no decision (ir/View.h); offsets in the arena are planned at run time for the batch at hand.
  }];
  let statistics = [Statistic<"resultsInPlace", "results-in-place", "Results that overwrite an operand">];
}

#endif // NNCC_PASSES_PASSES_TD
