// Chooses the memory order of every tensor: channels-last around convolutions and pools, row-major elsewhere, and an nn.reorder
// where the two meet. Takes a function of row-major tensors whose logical shapes stay as they are. Runs before weights are packed
// and kernels formed, which both look at the order.

#include "passes/Passes.h"

#include "ir/Kernel.h"
#include "ir/View.h"

#include "llvm/ADT/TypeSwitch.h"

namespace nncc::passes {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

/// The orders that an op asks of its operands and gives its results; empty = row-major.
struct Layouts {
  SmallVector<SmallVector<int64_t>> operands, results;
};

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

SmallVector<int64_t> orderIn(Value value) {
  RankedTensorType type = tensorTypeOf(value);
  return nn::isRowMajor(type) ? SmallVector<int64_t>() : nn::orderOf(type);
}

/// Convolutions and pools: the image in and out is channels-last; weights and bias stay.
Layouts spatialLayouts(Operation *op) {
  Layouts layouts;
  for (Value operand : op->getOperands())
    layouts.operands.push_back(orderIn(operand));
  SmallVector<int64_t> order = nn::channelsLastOrder(tensorTypeOf(op->getResult(0)).getRank());
  layouts.results.push_back(order);
  auto conv = dyn_cast<nn::ConvOp>(op);
  if (!conv || !nn::readsRowMajor(conv))
    layouts.operands[0] = order;
  return layouts;
}

/// The gradient of a weight from channels-last images, or a row-major input of few channels, which its kernel gathers as the
/// convolution does; the result is a weight.
Layouts weightGradientLayouts(nn::ConvWeightGradientOp op) {
  RankedTensorType x = tensorTypeOf(op.getX());
  SmallVector<int64_t> order = nn::channelsLastOrder(x.getRank());
  bool staysRowMajor = nn::isRowMajor(x) && x.getDimSize(1) < nn::kGatheredInputChannels;
  return {{staysRowMajor ? SmallVector<int64_t>() : order, order}, {SmallVector<int64_t>()}};
}

/// The order of the first operand that has the result's shape and is not row-major goes for the result and for every other
/// operand of that shape. Operands that broadcast are read through their strides and stay.
Layouts elementwiseLayouts(Operation *op) {
  Layouts layouts;
  RankedTensorType result = tensorTypeOf(op->getResult(0));
  auto isFull = [&](Value operand) { return nn::shapeOf(operand.getType()) == nn::shapeOf(result); };
  SmallVector<int64_t> order;
  for (Value operand : op->getOperands())
    if (order.empty() && isFull(operand))
      order = orderIn(operand);
  for (Value operand : op->getOperands())
    layouts.operands.push_back(isFull(operand) ? order : orderIn(operand));
  layouts.results.push_back(order);
  return layouts;
}

/// Ops whose result has the dimensions of their operands, only other extents or values: the order of the first operand that is
/// not row-major goes for all operands of its rank and for the result. Per-channel operands stay.
Layouts followingLayouts(Operation *op) {
  Layouts layouts;
  auto hasRank = [&](Value value) {
    return tensorTypeOf(value).getRank() == tensorTypeOf(op->getResult(0)).getRank();
  };
  SmallVector<int64_t> order;
  for (Value operand : op->getOperands())
    if (order.empty() && hasRank(operand))
      order = orderIn(operand);
  for (Value operand : op->getOperands())
    layouts.operands.push_back(hasRank(operand) ? order : orderIn(operand));
  layouts.results.push_back(order);
  return layouts;
}

/// A reduction reads any order. The result keeps it where the dimensions remain.
Layouts reductionLayouts(Operation *op) {
  SmallVector<int64_t> order = orderIn(op->getOperand(0));
  bool keepsDims = tensorTypeOf(op->getResult(0)).getRank() == tensorTypeOf(op->getOperand(0)).getRank();
  return {{order}, {keepsDims ? order : SmallVector<int64_t>()}};
}

/// Where a memory order makes a transpose a change of names, it is chosen: channels-last tensors become row-major ones with the
/// channels as their last dimension, and the other way round. Other transposes are row-major.
Layouts transposeLayouts(nn::TransposeOp op) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  SmallVector<int64_t> order = orderIn(op.getX());
  if (!order.empty())
    return {{order == permutation ? order : SmallVector<int64_t>()}, {SmallVector<int64_t>()}};
  SmallVector<int64_t> channelsLast = nn::channelsLastOrder(permutation.size());
  bool isRenamed = permutation.size() > 2 && llvm::all_of(llvm::enumerate(channelsLast), [&](auto place) {
    return permutation[place.value()] == static_cast<int64_t>(place.index());
  });
  return {{SmallVector<int64_t>()}, {isRenamed ? channelsLast : SmallVector<int64_t>()}};
}

Layouts layoutsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Layouts>(op)
      .Case<nn::ConvOp, nn::ConvTransposeOp, nn::MaxPoolOp, nn::AvgPoolOp, nn::AdaptiveAvgPoolOp,
            nn::AdaptiveMaxPoolOp, nn::ResizeOp>([](Operation *op) { return spatialLayouts(op); })
      .Case<nn::TransposeOp>([](auto op) { return transposeLayouts(op); })
      .Case<nn::ConvWeightGradientOp>([](auto op) { return weightGradientLayouts(op); })
      .Case<nn::ElementwiseOpInterface>([](Operation *op) { return elementwiseLayouts(op); })
      .Case<nn::ConcatOp, nn::PadOp, nn::SliceOp, nn::ResizeGradientOp, nn::MaxPoolGradientOp, nn::AvgPoolGradientOp,
            nn::GroupNormOp, nn::InstanceNormOp>([](Operation *op) { return followingLayouts(op); })
      .Case<nn::ReductionOpInterface>([](Operation *op) { return reductionLayouts(op); })
      .Default([](Operation *op) {
        Layouts layouts;
        layouts.operands.resize(op->getNumOperands());
        layouts.results.resize(op->getNumResults());
        return layouts;
      });
}

class LayoutAssigner {
public:
  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<nn::GetParameterOp, nn::ConstantOp, nn::ReorderOp>(op))
        continue;
      Layouts layouts = layoutsOf(&op);
      for (auto [operand, order] : llvm::zip(op.getOpOperands(), layouts.operands))
        operand.set(inOrder(operand.get(), order));
      for (auto [result, order] : llvm::zip(op.getResults(), layouts.results))
        result.setType(nn::withOrder(tensorTypeOf(result), order));
    }
    // Reorders that nothing reads any more, as when one undoes another.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<nn::ReorderOp>(op) && op.use_empty())
        op.erase();
  }

private:
  /// `value` in `order`, through a reorder that all readers share.
  Value inOrder(Value value, ArrayRef<int64_t> order) {
    if (orderIn(value) == order)
      return value;
    // A reorder of a reorder starts from the first tensor.
    if (auto reorder = value.getDefiningOp<nn::ReorderOp>())
      if (!nn::isPacked(tensorTypeOf(reorder.getInput())))
        return inOrder(reorder.getInput(), order);
    OpBuilder builder(value.getContext());
    Value &known = reorders[{value, builder.getI64ArrayAttr(order)}];
    if (known)
      return known;
    if (Operation *producer = value.getDefiningOp())
      builder.setInsertionPointAfter(producer);
    else
      builder.setInsertionPointToStart(cast<BlockArgument>(value).getOwner());
    known = nn::ReorderOp::create(builder, value.getLoc(), nn::withOrder(tensorTypeOf(value), order),
                                  value);
    return known;
  }

  llvm::DenseMap<std::pair<Value, Attribute>, Value> reorders;
};

struct AssignLayoutsPass : passes::impl::AssignLayoutsBase<AssignLayoutsPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      LayoutAssigner().run(getOperation().getBody().front());
  }
};

} // namespace
