// Reorders the weights of convolutions and matrix products to the panels that their kernels read. Runs before OutlinePrepare,
// which carries the reorders out of the run, and before FormKernels, so that a weight reaches its kernel as a packed operand.

#include "passes/ParameterValues.h"
#include "passes/Passes.h"

#include "ir/Kernel.h"

namespace nncc::passes {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

class WeightPacker {
public:
  WeightPacker(int64_t columns, int64_t lanes) : columns(columns), lanes(lanes) {}

  void packConv(nn::ConvOp conv) {
    if (nn::isDepthwise(conv))
      return pack(conv.getWeightMutable(), nn::depthwiseTaps(conv, lanesOf(conv.weightType())), Which::All);
    int64_t outputs = conv.weightType().getDimSize(0) / conv.getGroups();
    pack(conv.getWeightMutable(), nn::panelsOf(conv, panelColumns(conv.weightType(), outputs)), Which::All);
  }

  void packMatmul(nn::MatmulOp matmul) {
    auto type = cast<RankedTensorType>(matmul.getRhs().getType());
    int64_t outputs = type.getDimSize(type.getRank() - (matmul.getTransposeRhs() ? 2 : 1));
    if (type.hasStaticShape())
      pack(matmul.getRhsMutable(), nn::panelsOf(matmul, panelColumns(type, outputs)), Which::Parameters);
  }

  /// The contracted index outermost: a step multiplies one unit of the state with the weights of all gates, side by side.
  void turnHiddenWeight(nn::RecurrenceOp recurrence) {
    auto type = cast<RankedTensorType>(recurrence.getWHh().getType());
    reorder(recurrence.getWHhMutable(), nn::withOrder(type, {1, 0}), Which::Parameters);
  }

private:
  /// A vector register holds half as many f64 elements as f32 ones; f16 and bf16 accumulate in f32.
  static int64_t elementWidth(RankedTensorType weight) {
    return std::max(weight.getElementType().getIntOrFloatBitWidth() / 32, 1u);
  }
  int64_t lanesOf(RankedTensorType weight) const {
    return std::max<int64_t>(lanes / elementWidth(weight), 1);
  }
  int64_t panelColumns(RankedTensorType weight, int64_t outputs) const {
    return nn::panelColumns(outputs, std::max<int64_t>(columns / elementWidth(weight), 1), lanesOf(weight));
  }

  /// Weights that are reordered: all, or those that depend on parameters only, which is done once.
  enum class Which { All, Parameters };

  void pack(OpOperand &weight, nn::PackLoopsAttr loops, Which which) {
    auto type = cast<RankedTensorType>(weight.get().getType());
    auto encoding = nn::EncodingAttr::get(loops.getContext(), {}, {}, loops);
    reorder(weight, RankedTensorType::get(type.getShape(), type.getElementType(), encoding), which);
  }

  void reorder(OpOperand &weight, RankedTensorType type, Which which) {
    auto present = cast<RankedTensorType>(weight.get().getType());
    if (nn::isPacked(present))
      return;
    if (which == Which::Parameters && (!nn::isRowMajor(present) || !parameterValues.contains(weight.get())))
      return;
    // One reorder serves every reader that wants the same layout.
    Value &packed = packedWeights[{weight.get(), type}];
    if (!packed) {
      OpBuilder builder(type.getContext());
      builder.setInsertionPointAfterValue(weight.get());
      packed = nn::ReorderOp::create(builder, weight.get().getLoc(), type, weight.get());
    }
    weight.set(packed);
  }

  int64_t columns, lanes;
  ParameterValues parameterValues;
  llvm::DenseMap<std::pair<Value, Type>, Value> packedWeights;
};

struct PackWeightsPass : passes::impl::PackWeightsBase<PackWeightsPass> {
  using PackWeightsBase::PackWeightsBase;

  void runOnOperation() override {
    if (lanes <= 0 || columns <= 0 || columns % lanes != 0) {
      emitError(getOperation().getLoc(),
                "pack-weights: columns must be a positive multiple of lanes, found columns = ")
          << columns.getValue() << ", lanes = " << lanes.getValue();
      return signalPassFailure();
    }
    WeightPacker packer(columns, lanes);
    getOperation().walk([&](Operation *op) {
      if (auto conv = dyn_cast<nn::ConvOp>(op))
        packer.packConv(conv);
      else if (auto matmul = dyn_cast<nn::MatmulOp>(op))
        packer.packMatmul(matmul);
      else if (auto recurrence = dyn_cast<nn::RecurrenceOp>(op))
        packer.turnHiddenWeight(recurrence);
    });
  }
};

} // namespace
