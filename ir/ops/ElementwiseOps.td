// Elementwise ops. Each states its scalar formula once, in ElementwiseOps.cpp, as arith and math ops.
#ifndef NNCC_IR_OPS_ELEMENTWISEOPS_TD
#define NNCC_IR_OPS_ELEMENTWISEOPS_TD

include "ir/NNBase.td"
include "ir/NNInterfaces.td"

class NN_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : NN_InferredOp<mnemonic, traits # [DeclareOpInterfaceMethods<NN_ElementwiseOpInterface>]>;

class NN_UnaryOp<string mnemonic, Type type = NN_FloatTensor> : NN_ElementwiseOp<mnemonic> {
  let arguments = (ins type:$x);
  let results = (outs type:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

class NN_BinaryOp<string mnemonic, Type type = NN_Tensor> : NN_ElementwiseOp<mnemonic> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def NN_ReluOp : NN_UnaryOp<"relu"> {
  let summary = "max(x, 0); NaN stays NaN";
  let description = [{
    ```mlir
    %y = nn.relu %x : tensor<4x8xf32>
    ```
  }];
}

def NN_AddOp : NN_BinaryOp<"add"> {
  let summary = "lhs + rhs, with broadcasting";
  let description = [{
    ```mlir
    %y = nn.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    `broadcast_c1`: operands have one element type.
    `broadcast_c2`: aligned at the last dimension, extents are equal or one of them is 1.
  }];
}

#endif // NNCC_IR_OPS_ELEMENTWISEOPS_TD
