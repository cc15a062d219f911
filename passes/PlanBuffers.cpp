// Decides which kernels write their result over an operand. Takes kernels in their final order and leaves `in_place` on them;
// codegen/ProgramBuilder gives such a result the operand's buffer, and the runtime's arena planner, which knows sizes and lifetimes
// for the batch at hand, places the buffers that remain. Runs last, since any change of order or fusion changes lifetimes.

#include "passes/InPlace.h"
#include "passes/Passes.h"

#include "ir/Kernel.h"
#include "ir/View.h"

namespace nncc::passes {
#define GEN_PASS_DEF_PLANBUFFERS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Equal element for element in memory: the same bytes per element at the same place.
bool hasSameElements(RankedTensorType a, RankedTensorType b) {
  return nn::shapeOf(a) == nn::shapeOf(b) && nn::sameMemory(a, b) &&
         a.getElementType().getIntOrFloatBitWidth() == b.getElementType().getIntOrFloatBitWidth();
}

/// The kernel reads block argument `argument` only at the index at which it writes its result, and before it writes there: in
/// an elementwise kernel, and as the operand of a contraction's epilogue, tile by tile.
bool readsWhereItWrites(nn::KernelOp kernel, BlockArgument argument) {
  RankedTensorType result = tensorTypeOf(kernel.getResult(0));
  if (nn::storedValue(kernel, 0) != kernel.getTerminator()->getOperand(0))
    return false;
  // Movements of other operands do no harm: no other operand lies in the same memory.
  for (Operation &op : kernel.getBlock().without_terminator())
    if (!isa<nn::ConstantOp, nn::ConvOp, nn::MatmulOp, nn::ElementwiseOpInterface>(op) && !nn::isStridedMovement(&op))
      return false;
  // A pool would have made the tile and the result differ; here every reader has the result's shape and order, and so have its
  // readers, up to what is stored: a transpose of a square behind one of them would write elsewhere.
  SmallVector<Value> worklist = {argument};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (isa<nn::YieldOp>(user))
        continue;
      if (!isa<nn::ElementwiseOpInterface>(user))
        return false;
      RankedTensorType type = tensorTypeOf(user->getResult(0));
      if (nn::shapeOf(type) != nn::shapeOf(result) || nn::orderOf(type) != nn::orderOf(result))
        return false;
      worklist.push_back(user->getResult(0));
    }
  return true;
}

} // namespace

bool passes::mayOverwrite(nn::KernelOp kernel, unsigned operand) {
  return kernel.getNumResults() == 1 && hasSameElements(tensorTypeOf(kernel.getInputs()[operand]), tensorTypeOf(kernel.getResult(0))) &&
         readsWhereItWrites(kernel, kernel.getBlock().getArgument(operand));
}

namespace {

class BufferPlanner {
public:
  /// Returns how many results were put in place.
  unsigned run(Block &block) {
    for (auto [index, op] : llvm::enumerate(block)) {
      positions[&op] = index;
      for (Value operand : op.getOperands())
        recordUse(operand, &op);
    }
    unsigned count = 0;
    for (nn::KernelOp kernel : block.getOps<nn::KernelOp>())
      count += placeResult(kernel);
    return count;
  }

private:
  /// The buffer behind a value: its source through views and through results already put in place.
  Value bufferOf(Value value) {
    value = nn::viewedValue(value);
    for (auto it = buffers.find(value); it != buffers.end(); it = buffers.find(value))
      value = it->second;
    return value;
  }

  void recordUse(Value value, Operation *user) {
    Value buffer = nn::viewedValue(value);
    if (user->hasTrait<OpTrait::IsTerminator>())
      returned.insert(buffer);
    // A view reads nothing; its readers count.
    if (!nn::isView(user))
      lastUse[buffer] = std::max(lastUse.lookup(buffer), positions.lookup(user));
  }

  bool placeResult(nn::KernelOp kernel) {
    if (kernel.getNumResults() != 1)
      return false;
    Value result = kernel.getResult(0);
    if (std::optional<uint64_t> operand = kernel.getInPlace()) {
      // A part of a concatenation.
      shareBuffer(result, bufferOf(kernel.getInputs()[*operand]));
      return false;
    }
    // What is returned lies in the caller's memory.
    if (returned.contains(result))
      return false;
    for (auto [index, operand] : llvm::enumerate(kernel.getInputs())) {
      Value buffer = bufferOf(operand);
      if (!buffer.getDefiningOp<nn::KernelOp>() || returned.contains(buffer) ||
          lastUse.lookup(buffer) > positions.lookup(kernel) ||
          !mayOverwrite(kernel, index))
        continue;
      // The same memory under a second operand would be read after it was overwritten.
      if (llvm::count_if(kernel.getInputs(), [&](Value other) { return bufferOf(other) == buffer; }) > 1)
        continue;
      kernel.setInPlace(index);
      shareBuffer(result, buffer);
      return true;
    }
    return false;
  }

  void shareBuffer(Value result, Value buffer) {
    buffers[result] = buffer;
    lastUse[buffer] = std::max(lastUse.lookup(buffer), lastUse.lookup(result));
    if (returned.contains(result))
      returned.insert(buffer);
  }

  llvm::DenseMap<Operation *, size_t> positions;
  llvm::DenseMap<Value, size_t> lastUse; ///< position of the last reader, per buffer
  llvm::DenseMap<Value, Value> buffers;  ///< results in place -> what they overwrite
  llvm::DenseSet<Value> returned;
};

struct PlanBuffersPass : passes::impl::PlanBuffersBase<PlanBuffersPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      resultsInPlace += BufferPlanner().run(getOperation().getBody().front());
  }
};

} // namespace
