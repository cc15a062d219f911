// Rewrites ops that no kernel implements as they are into ops that have one. A recurrent layer becomes one matrix product over all
// time steps, where the time goes, and nn.recurrence, the part that must run step by step; a transposed left operand becomes a
// transpose, where no kernel reads it down its columns. Runs early: the products take part in packing and fusion like any other.

#include "passes/Passes.h"
#include "ir/Kernel.h"
#include "ir/TensorBuilder.h"

namespace nncc::passes {
#define GEN_PASS_DEF_DECOMPOSEOPS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

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

/// One product per position of the kernel: g as a matrix of positions and output channels against the part of x that this position
/// reads, positions and input channels.
void decomposeWeightGradient(nn::ConvWeightGradientOp op) {
  OpBuilder builder(op);
  TensorBuilder b(builder, op.getLoc());
  RankedTensorType weight = b.typeOf(op.getResult()), image = b.typeOf(op.getG());
  int64_t rank = weight.getRank(), spatialRank = rank - 2, groups = op.getGroups();
  MLIRContext *context = b.getContext();
  auto constant = [&](int64_t value) { return nn::constantDim(context, value); };
  // [N, G * C, positions...] to [G, N * positions, C], or without G where there is one group.
  auto asMatrix = [&](Value x) {
    nn::Shape shape = nn::shapeOf(x.getType());
    int64_t channels = *nn::constantOf(shape[1]);
    SmallVector<nn::Dim> rows = {shape[0]};
    llvm::append_range(rows, ArrayRef<nn::Dim>(shape).drop_front(2));
    nn::Dim positions = nn::product(rows, context);
    SmallVector<int64_t> order = {0};
    llvm::append_range(order, dimsBetween(2, rank));
    order.push_back(1);
    Value last = b.transpose(x, order);
    if (groups == 1)
      return b.reshape(last, {positions, constant(channels)});
    return b.transpose(b.reshape(last, {positions, constant(groups), constant(channels / groups)}), {1, 0, 2});
  };
  Value g = asMatrix(op.getG()), x = op.getX();
  auto isAnyPad = [](int64_t pad) { return pad != 0; };
  if (llvm::any_of(op.getPadsBegin(), isAnyPad) || llvm::any_of(op.getPadsEnd(), isAnyPad)) {
    SmallVector<int64_t> begin = {0, 0}, end = {0, 0};
    llvm::append_range(begin, op.getPadsBegin());
    llvm::append_range(end, op.getPadsEnd());
    x = b.create<nn::PadOp>(x, begin, end, nn::PadMode::Constant, llvm::APFloat(0.0));
  }
  nn::Shape tapShape = nn::shapeOf(weight);
  tapShape.truncate(2);
  tapShape.push_back(constant(1));
  SmallVector<Value> taps;
  int64_t tapCount = 1;
  for (int64_t dim = 2; dim < rank; ++dim)
    tapCount *= weight.getDimSize(dim);
  for (int64_t tap = 0; tap < tapCount; ++tap) {
    SmallVector<int64_t> starts(rank, 0), sizes(rank, -1), steps(rank, 1);
    for (int64_t i = spatialRank - 1, rest = tap; i >= 0; rest /= weight.getDimSize(2 + i), --i) {
      starts[2 + i] = rest % weight.getDimSize(2 + i) * op.getDilations()[i];
      sizes[2 + i] = image.getDimSize(2 + i);
      steps[2 + i] = op.getStrides()[i];
    }
    Value part = asMatrix(b.create<nn::SliceOp>(x, starts, sizes, steps));
    Value product = b.create<nn::MatmulOp>(g, part, Value(), /*transpose_lhs=*/true, /*transpose_rhs=*/false);
    taps.push_back(b.reshape(product, tapShape));
  }
  Value all = taps.size() == 1 ? taps[0] : b.create<nn::ConcatOp>(taps, b.getI64IntegerAttr(2));
  op.getResult().replaceAllUsesWith(b.reshape(all, weight));
  op.erase();
}

struct DecomposeOpsPass : passes::impl::DecomposeOpsBase<DecomposeOpsPass> {
  using DecomposeOpsBase::DecomposeOpsBase;

  void runOnOperation() override {
    getOperation().walk([&](nn::ConvWeightGradientOp op) {
      if (!multipliesTransposed || !nn::multipliesTransposed(op, multipliesTransposedHalves))
        decomposeWeightGradient(op);
    });
    getOperation().walk([&](Operation *op) {
      if (auto rnn = dyn_cast<nn::RnnOp>(op))
        decomposeRecurrent(rnn, rnn.getActivation() == nn::RnnActivation::Tanh ? nn::RecurrentCell::RnnTanh
                                                                               : nn::RecurrentCell::RnnRelu);
      else if (auto lstm = dyn_cast<nn::LstmOp>(op))
        decomposeRecurrent(lstm, nn::RecurrentCell::Lstm, lstm.getC0());
      else if (auto gru = dyn_cast<nn::GruOp>(op))
        decomposeRecurrent(gru, gru.getResetBefore() ? nn::RecurrentCell::GruResetBefore : nn::RecurrentCell::Gru);
      else if (auto matmul = dyn_cast<nn::MatmulOp>(op); matmul && matmul.getTransposeLhs() &&
                                                     !(multipliesTransposed &&
                                                       nn::multipliesTransposed(matmul, multipliesTransposedHalves)))
        transposeLhs(matmul);
    });
  }
};

} // namespace
