// Random numbers that depend on what they are for, never on the order in which threads ask for them.
#ifndef NNCC_IR_OPS_RANDOMOPS_TD
#define NNCC_IR_OPS_RANDOMOPS_TD

include "ir/NNBase.td"
include "ir/ops/ElementwiseOps.td"

def NN_RandomUniformOp : NN_ElementwiseOp<"random_uniform"> {
  let summary = "Random numbers in [0, 1), a function of seed, step, stream and element number alone";
  let description = [{
    The first word of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11), as
    support/Philox.h has it, with the seed as its key and the counter {element, element >> 32, step, stream}; its upper 24 bits make
    the fraction. Ops that need numbers of their own take different streams.

    ```mlir
    %u = nn.random_uniform %element, %seed, %step {stream = 3} : (tensor<4x8xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x8xf32>
    ```
    `random_uniform_c1`: the operands' shapes broadcast.
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$element, RankedTensorOf<[I64]>:$seed, RankedTensorOf<[I64]>:$step, I64Attr:$stream);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$element `,` $seed `,` $step attr-dict `:` functional-type(operands, results)";
}

#endif // NNCC_IR_OPS_RANDOMOPS_TD
