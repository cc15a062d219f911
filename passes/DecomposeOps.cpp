// Rewrites ops that no kernel implements as they are into ops that have one. A recurrent layer becomes one matrix product over all
// time steps, where the time goes, and nn.recurrence, the part that must run step by step; a transposed left operand becomes a
// transpose. Runs early: the products take part in packing and fusion like any other.

#include "passes/Passes.h"

namespace nncc::passes {
#define GEN_PASS_DEF_DECOMPOSEOPS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

/// x w_ih^T + bias for all time steps: [N, T, I] x [G * H, I] -> [N, T, G * H].
Value projectInput(OpBuilder &builder, Location loc, Value x, Value weight, Value bias) {
  nn::Shape shape = nn::shapeOf(x.getType());
  shape.back() = nn::dimOf(cast<RankedTensorType>(weight.getType()), 0);
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  return nn::MatmulOp::create(builder, loc, *nn::tensorType(std::nullopt, shape, element), x, weight, bias,
                              /*transpose_lhs=*/false, /*transpose_rhs=*/true);
}

Value addIfBoth(OpBuilder &builder, Location loc, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return nn::AddOp::create(builder, loc, a, b);
}

template <typename Op> void decomposeRecurrent(Op op, nn::RecurrentCell cell, Value initialCell = {}) {
  OpBuilder builder(op);
  // The GRU multiplies its hidden bias by the reset gate, so it stays with the step; the others add both.
  bool keepsHiddenBias = isa<nn::GruOp>(op);
  Value inputBias = op.getBIh(), hiddenBias;
  if (keepsHiddenBias)
    hiddenBias = op.getBHh();
  else
    inputBias = addIfBoth(builder, op.getLoc(), op.getBIh(), op.getBHh());
  Value projected = projectInput(builder, op.getLoc(), op.getX(), op.getWIh(), inputBias);
  auto recurrence = nn::RecurrenceOp::create(builder, op.getLoc(), op->getResultTypes(), projected, op.getWHh(),
                                             hiddenBias, op.getH0(), initialCell, cell, op.getReverse());
  op->replaceAllUsesWith(recurrence->getResults());
  op.erase();
}

void transposeLhs(nn::MatmulOp matmul) {
  OpBuilder builder(matmul);
  Value lhs = matmul.getLhs();
  auto type = cast<RankedTensorType>(lhs.getType());
  nn::Shape shape = nn::shapeOf(type);
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  matmul.getLhsMutable().assign(nn::TransposeOp::create(
      builder, matmul.getLoc(), *nn::tensorType(std::nullopt, shape, type.getElementType()), lhs,
      builder.getDenseI64ArrayAttr(permutation)));
  matmul.setTransposeLhs(false);
}

struct DecomposeOpsPass : passes::impl::DecomposeOpsBase<DecomposeOpsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto rnn = dyn_cast<nn::RnnOp>(op))
        decomposeRecurrent(rnn, rnn.getActivation() == nn::RnnActivation::Tanh ? nn::RecurrentCell::RnnTanh
                                                                               : nn::RecurrentCell::RnnRelu);
      else if (auto lstm = dyn_cast<nn::LstmOp>(op))
        decomposeRecurrent(lstm, nn::RecurrentCell::Lstm, lstm.getC0());
      else if (auto gru = dyn_cast<nn::GruOp>(op))
        decomposeRecurrent(gru, gru.getResetBefore() ? nn::RecurrentCell::GruResetBefore : nn::RecurrentCell::Gru);
      else if (auto matmul = dyn_cast<nn::MatmulOp>(op); matmul && matmul.getTransposeLhs())
        transposeLhs(matmul);
    });
  }
};

} // namespace
