// Sequences: recurrent cells over time, and attention. Weights have PyTorch's shapes and gate orders.
#ifndef NNCC_IR_OPS_SEQUENCEOPS_TD
#define NNCC_IR_OPS_SEQUENCEOPS_TD

include "ir/NNEnums.td"

// One layer in one direction. `gates` rows of weights stand one after another.
class NN_RecurrentOp<string mnemonic, int gates, dag moreOperands, dag attributes, dag moreResults = (outs)>
    : NN_InferredOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = !con((ins NN_FloatTensor:$x, NN_FloatTensor:$w_ih, NN_FloatTensor:$w_hh,
                            Optional<NN_FloatTensor>:$b_ih, Optional<NN_FloatTensor>:$b_hh,
                            Optional<NN_FloatTensor>:$h0), moreOperands, attributes, (ins UnitAttr:$reverse));
  let results = !con((outs NN_FloatTensor:$y, NN_FloatTensor:$h), moreResults);
  let assemblyFormat = [{
    $x `,` $w_ih `,` $w_hh (`bias_ih` $b_ih^)? (`bias_hh` $b_hh^)? (`h0` $h0^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = inferredOpDeclarations # "static constexpr int64_t kGates = " # gates # ";" # [{
    int64_t hiddenSize() { return ::llvm::cast<::mlir::RankedTensorType>(getWHh().getType()).getDimSize(1); }
  }];
}

def NN_RnnOp : NN_RecurrentOp<"rnn", 1, (ins), (ins DefaultValuedAttr<NN_RnnActivationAttr, "::nncc::nn::RnnActivation::Tanh">:$activation)> {
  let summary = "Simple recurrent layer in one direction";
  let description = [{
    h[t] = activation(w_ih x[t] + b_ih + w_hh h[t-1] + b_hh), with x [N, T, I], w_ih [H, I], w_hh [H, H], biases [H] and h0
    [N, H] (zero when absent). y [N, T, H] holds every h[t], h [N, H] the last one. With `reverse` time runs from T - 1 to 0
    and y keeps the order of x. Keras' h[t] = tanh(x[t] W + h[t-1] U + b) is the same with w_ih = W^T, w_hh = U^T, b_ih = b.

    ```mlir
    %y, %h = nn.rnn %x, %w_ih, %w_hh bias_ih %b {reverse}
           : (tensor<2x5x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
    ```
    `recurrent_c1`: x has rank 3, and all operands have one element type.
    `recurrent_c2`: w_hh is [G * H, H] and w_ih [G * H, I], both static, with G = 1 (rnn), 3 (gru) or 4 (lstm) gates.
    `recurrent_c3`: biases have shape G * H.
    `recurrent_c4`: initial states have shape N, H.
  }];
}

def NN_LstmOp : NN_RecurrentOp<"lstm", 4, (ins Optional<NN_FloatTensor>:$c0), (ins), (outs NN_FloatTensor:$c)> {
  let summary = "Long short-term memory layer in one direction";
  let description = [{
    With the gates i, f, g, o in the rows of the weights: [i, f, g, o] = w_ih x[t] + b_ih + w_hh h[t-1] + b_hh;
    c[t] = sigmoid(f) * c[t-1] + sigmoid(i) * tanh(g); h[t] = sigmoid(o) * tanh(c[t]). Shapes and `reverse` as nn.rnn; c0 and
    c are [N, H].

    ```mlir
    %y, %h, %c = nn.lstm %x, %w_ih, %w_hh bias_ih %b h0 %h0 c0 %c0
               : (tensor<2x5x8xf32>, tensor<64x8xf32>, tensor<64x16xf32>, tensor<64xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
                 -> (tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
    ```
    Constraints: `recurrent_c1`, `recurrent_c2`, `recurrent_c3`, `recurrent_c4`.
  }];
  let assemblyFormat = [{
    $x `,` $w_ih `,` $w_hh (`bias_ih` $b_ih^)? (`bias_hh` $b_hh^)? (`h0` $h0^)? (`c0` $c0^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_GruOp : NN_RecurrentOp<"gru", 3, (ins), (ins UnitAttr:$reset_before)> {
  let summary = "Gated recurrent layer in one direction";
  let description = [{
    With the gates r, z, n in the rows of the weights: r = sigmoid(w_ir x[t] + b_ir + w_hr h[t-1] + b_hr), z likewise,
    n = tanh(w_in x[t] + b_in + r * (w_hn h[t-1] + b_hn)), h[t] = (1 - z) * n + z * h[t-1]. That is PyTorch's GRU, ONNX's with
    linear_before_reset and Keras' with reset_after. With `reset_before` r acts before the product:
    n = tanh(w_in x[t] + b_in + w_hn (r * h[t-1]) + b_hn). Shapes and `reverse` as nn.rnn.

    ```mlir
    %y, %h = nn.gru %x, %w_ih, %w_hh bias_ih %b bias_hh %b
           : (tensor<2x5x8xf32>, tensor<48x8xf32>, tensor<48x16xf32>, tensor<48xf32>, tensor<48xf32>)
             -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
    ```
    Constraints: `recurrent_c1`, `recurrent_c2`, `recurrent_c3`, `recurrent_c4`.
  }];
}

def NN_RecurrenceOp : NN_InferredOp<"recurrence", [AttrSizedOperandSegments]> {
  let summary = "The part of a recurrent layer that runs step by step";
  let description = [{
    As nn.rnn, nn.lstm and nn.gru, with the product of input and w_ih, and the biases that may be added to it, computed
    before for all steps: `projected` is [N, T, G * H]. Only a GRU has `bias_hh`, since its reset gate multiplies it; only an
    LSTM has c0 and the result c. DecomposeOps makes it, so that one matrix product serves all time steps.

    ```mlir
    %y, %h = nn.recurrence %p, %w_hh rnn_tanh : (tensor<2x5x16xf32>, tensor<16x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x16xf32>)
    ```
    `recurrence_c1`: projected has rank 3, w_hh is static [G * H, H], and projected's last dimension is G * H.
    `recurrence_c2`: bias_hh, of shape G * H, comes with the cells gru and gru_reset_before only.
    `recurrence_c3`: h0 and c0 have shape N, H, and c0 comes with the cell lstm only.
    `recurrence_c4`: all operands have one element type.
  }];
  let arguments = (ins NN_FloatTensor:$projected, NN_FloatTensor:$w_hh, Optional<NN_FloatTensor>:$bias_hh,
                       Optional<NN_FloatTensor>:$h0, Optional<NN_FloatTensor>:$c0, NN_RecurrentCellAttr:$cell,
                       UnitAttr:$reverse);
  let results = (outs NN_FloatTensor:$y, NN_FloatTensor:$h, Optional<NN_FloatTensor>:$c);
  let assemblyFormat = [{
    $projected `,` $w_hh (`bias_hh` $bias_hh^)? (`h0` $h0^)? (`c0` $c0^)? $cell attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = inferredOpDeclarations # [{
    int64_t hiddenSize() { return ::llvm::cast<::mlir::RankedTensorType>(getWHh().getType()).getDimSize(1); }
    /// Gates of the cell: 1, 4 (i, f, g, o) or 3 (r, z, n).
    int64_t gateCount() { return gateCountOf(getCell()); }
    static int64_t gateCountOf(::nncc::nn::RecurrentCell cell);
  }];
}

def NN_AttentionOp : NN_InferredOp<"attention"> {
  let summary = "Scaled dot-product attention";
  let description = [{
    softmax(scale * q k^T + mask) v over the last dimension of the scores: q is [..., S, D], k [..., T, D], v [..., T, E], the
    result [..., S, E]. Where k and v have fewer heads (dimension -3) than q, each serves an equal run of q's heads. A bool
    mask keeps the scores where it is true, a float mask is added; it broadcasts to [..., S, T]. `causal` keeps t <= s. `scale`
    is 1 / sqrt(D) when absent. A row whose scores are all masked gives 0.

    ```mlir
    %y = nn.attention %q, %k, %v mask %m {causal}
       : (tensor<2x8x5x64xf32>, tensor<2x8x7x64xf32>, tensor<2x8x7x64xf32>, tensor<5x7xi1>) -> tensor<2x8x5x64xf32>
    ```
    `attention_c1`: q, k and v have one element type and the same rank of at least 2.
    `attention_c2`: q and k agree in D, which is static, k and v in T.
    `attention_c3`: the dimensions before S and T are equal, but for q's heads, which may be a multiple of k's and v's.
    `attention_c4`: mask is bool or has q's element type, and broadcasts to [..., S, T].
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v, Optional<NN_Tensor>:$mask,
                       OptionalAttr<F64Attr>:$scale, UnitAttr:$causal);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$q `,` $k `,` $v (`mask` $mask^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = inferredOpDeclarations # [{
    /// `scale`, or 1 / sqrt(D).
    double scaleOrDefault();
  }];
}

#endif // NNCC_IR_OPS_SEQUENCEOPS_TD
