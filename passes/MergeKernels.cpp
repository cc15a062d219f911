// Makes one kernel of small elementwise ones. Takes the kernels of @train_step; leaves fewer, with several results each: a batch norm's
// factor, its shift and both running statistics are computed together. Runs behind RecomputeValues, which decides what is computed
// where, and before PlaceConcats, behind which kernels read parts of vectors.

#include "passes/Passes.h"
#include "passes/StepMemory.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace nncc::passes {
#define GEN_PASS_DEF_MERGEKERNELS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

/// More than this takes longer to compute than a kernel to start.
constexpr int64_t kMostBytes = 64 << 10;

/// Arguments of a kernel: each takes a register or a place in the caller's argument buffer.
constexpr size_t kMostArguments = 64;

class KernelMerger {
public:
  KernelMerger(Block &block, const DimValues &dims) : block(block), dims(dims) {}

  unsigned run() {
    unsigned count = 0;
    // Later ones first: what goes into one kernel stands before it.
    for (Operation *op = block.getTerminator(); op; op = op->getPrevNode()) {
      auto kernel = dyn_cast<nn::KernelOp>(op);
      while (kernel && isSmall(kernel)) {
        nn::KernelOp earlier = partnerOf(kernel);
        if (!earlier)
          break;
        kernel = merge(earlier, kernel);
        op = kernel;
        ++count;
      }
    }
    return count;
  }

private:
  bool isSmall(nn::KernelOp kernel) const {
    Type type = kernel.getResult(0).getType();
    return !kernel.getInPlace() && llvm::all_equal(kernel.getResultTypes()) && dims.bytesOf(type) <= kMostBytes &&
           llvm::all_of(kernel.getBlock().without_terminator(), [&](Operation &op) {
             // A value of another shape would be computed for each element again, or in another loop.
             return isa<nn::ConstantOp>(op) || (isa<nn::ElementwiseOpInterface>(op) &&
                                                nn::shapeOf(op.getResult(0).getType()) == nn::shapeOf(type));
           }) &&
           // A result must be computed: what a kernel only copies has no op to stand for it.
           llvm::all_of(kernel.getTerminator()->getOperands(), [](Value value) { return value.getDefiningOp() != nullptr; });
  }

  static size_t argumentsOf(nn::KernelOp kernel) { return kernel.getInputs().size() + kernel.getNumResults(); }

  /// The next kernel before `kernel` that can run with it.
  nn::KernelOp partnerOf(nn::KernelOp kernel) const {
    for (Operation *op = kernel->getPrevNode(); op; op = op->getPrevNode()) {
      auto earlier = dyn_cast<nn::KernelOp>(op);
      if (earlier && earlier.getResult(0).getType() == kernel.getResult(0).getType() && isSmall(earlier) &&
          argumentsOf(earlier) + argumentsOf(kernel) <= kMostArguments &&
          llvm::all_of(earlier->getUsers(), [&](Operation *user) { return user == kernel || kernel->isBeforeInBlock(user); }))
        return earlier;
    }
    return {};
  }

  nn::KernelOp merge(nn::KernelOp earlier, nn::KernelOp later) {
    llvm::SetVector<Value> inputs(earlier.getInputs().begin(), earlier.getInputs().end());
    for (Value input : later.getInputs())
      if (input.getDefiningOp() != earlier)
        inputs.insert(input);
    // Results that others read.
    SmallVector<std::pair<nn::KernelOp, unsigned>> results;
    for (nn::KernelOp kernel : {earlier, later})
      for (OpResult result : kernel->getResults())
        if (kernel == later || llvm::any_of(result.getUsers(), [&](Operation *user) { return user != later; }))
          results.push_back({kernel, result.getResultNumber()});

    OpBuilder builder(later);
    SmallVector<Type> types(results.size(), later.getResult(0).getType());
    // Not the same again for each layer.
    bool isNamed = earlier.getKernelName().contains('_') && later.getKernelName().contains(earlier.getKernelName());
    std::string name = isNamed ? later.getKernelName().str() : (earlier.getKernelName() + "_" + later.getKernelName()).str();
    auto merged = nn::KernelOp::create(builder, later.getLoc(), types, builder.getStringAttr(name), inputs.getArrayRef(), IntegerAttr());
    Block &body = merged.getBody().emplaceBlock();
    llvm::DenseMap<Value, Value> inside;
    for (Value input : inputs)
      inside[input] = body.addArgument(input.getType(), input.getLoc());
    builder.setInsertionPointToStart(&body);
    for (nn::KernelOp kernel : {earlier, later}) {
      IRMapping mapping;
      for (auto [input, argument] : llvm::zip(kernel.getInputs(), kernel.getBlock().getArguments()))
        mapping.map(argument, inside.lookup(input));
      for (Operation &op : kernel.getBlock().without_terminator())
        builder.clone(op, mapping);
      for (auto [result, yielded] : llvm::zip(kernel.getResults(), kernel.getTerminator()->getOperands()))
        inside[result] = mapping.lookup(yielded);
    }
    SmallVector<Value> yielded = llvm::map_to_vector(results, [&](auto result) {
      auto [kernel, number] = result;
      return inside.lookup(kernel.getResult(number));
    });
    nn::YieldOp::create(builder, later.getLoc(), yielded);
    for (auto [result, value] : llvm::zip(results, merged.getResults())) {
      auto [kernel, number] = result;
      kernel.getResult(number).replaceUsesWithIf(value, [&](OpOperand &use) { return use.getOwner() != later; });
    }
    later.erase();
    earlier.erase();
    return merged;
  }

  Block &block;
  const DimValues &dims;
};

struct MergeKernelsPass : passes::impl::MergeKernelsBase<MergeKernelsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.getName() != kTrainStepFunction)
      return;
    DimValues dims(function);
    mergedKernels += KernelMerger(function.getBody().front(), dims).run();
  }
};

} // namespace
