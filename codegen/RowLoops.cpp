// Groups of softmax and the normalisations; see RowLoops.h.

#include "codegen/RowLoops.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

LogicalResult codegen::checkRowResults(nn::KernelOp kernel, Operation *anchor) {
  nn::Shape shape = nn::shapeOf(anchor->getOperand(0).getType());
  for (unsigned result = 0; result < kernel.getNumResults(); ++result)
    if (auto type = cast<RankedTensorType>(nn::storedValue(kernel, result).getType());
        nn::shapeOf(type) != shape || nn::isPacked(type))
      return kernel.emitOpError("has a result of another shape or layout than its anchor ") << anchor->getName();
  return success();
}

SmallVector<LoopDim> codegen::rowLoops(nn::KernelOp kernel, Operation *anchor, ValueRange aligned,
                                       function_ref<bool(int64_t)> isSwept,
                                       std::optional<int64_t> apart) {
  auto space = cast<RankedTensorType>(nn::storedValue(kernel, 0).getType());
  SmallVector<RankedTensorType> leaves;
  bool joins = true;
  joins &= collectLeaves(anchor->getOperand(0), {}, leaves);
  for (unsigned result = 0; result < kernel.getNumResults(); ++result) {
    Value stored = nn::storedValue(kernel, result);
    joins &= stored == kernel.getTerminator()->getOperand(result) &&
             collectLeaves(stored, anchor->getResult(0), leaves);
    leaves.push_back(cast<RankedTensorType>(stored.getType()));
  }
  for (Value value : aligned)
    leaves.push_back(cast<RankedTensorType>(value.getType()));
  return loopsOver(space, [&](int64_t outer, int64_t inner) {
    return joins && outer != apart && inner != apart && isSwept(outer) == isSwept(inner) &&
           canFlatten(leaves, space, outer, inner);
  });
}

Norm codegen::readNorm(Operation *anchor) {
  int64_t rank = cast<RankedTensorType>(anchor->getOperand(0).getType()).getRank();
  return llvm::TypeSwitch<Operation *, Norm>(anchor)
      .Case<nn::LayerNormOp>([&](nn::LayerNormOp op) {
        return Norm{op.getScale(), op.getBias(), op.getEpsilon().convertToDouble(), true,
                    rank - static_cast<int64_t>(op.getDims()), 0, false};
      })
      .Case<nn::RmsNormOp>([&](nn::RmsNormOp op) {
        return Norm{op.getScale(), {}, op.getEpsilon().convertToDouble(), false,
                    rank - static_cast<int64_t>(op.getDims()), 0, false};
      })
      .Case<nn::GroupNormOp>([&](nn::GroupNormOp op) {
        return Norm{op.getScale(), op.getBias(), op.getEpsilon().convertToDouble(), true, 2,
                    static_cast<int64_t>(op.getGroups()), true};
      })
      .Case<nn::InstanceNormOp>([&](nn::InstanceNormOp op) {
        return Norm{op.getScale(), op.getBias(), op.getEpsilon().convertToDouble(), true, 2, 0, true};
      });
}

SweptLoops codegen::normLoops(nn::KernelOp kernel, Operation *anchor, const Norm &norm) {
  auto isSwept = [&](int64_t dim) { return dim >= norm.firstDim; };
  SmallVector<Value> affine;
  for (Value value : {norm.scale, norm.bias})
    if (value)
      affine.push_back(value);
  std::optional<int64_t> apart;
  if (norm.perChannel)
    apart = 1;
  SweptLoops result;
  for (const LoopDim &loop : rowLoops(kernel, anchor, norm.perChannel ? ValueRange() : ValueRange(affine), isSwept, apart)) {
    if (norm.groups == 0 || loop.dim != 1) {
      result.loops.push_back(loop);
      result.isSwept.push_back(isSwept(loop.dim));
      continue;
    }
    // Channels are groups, kept, times the channels of a group, swept.
    MLIRContext *context = kernel.getContext();
    int64_t size = cast<RankedTensorType>(anchor->getOperand(0).getType()).getDimSize(1) / norm.groups;
    result.loops.push_back({nn::constantDim(context, norm.groups), 1, size});
    result.isSwept.push_back(false);
    if (size > 1) {
      result.loops.push_back({nn::constantDim(context, size), 1, 1});
      result.isSwept.push_back(true);
    }
  }
  return result;
}
