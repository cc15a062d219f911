// A training step as numbers: its kernels in order, the values that lie in the arena with their sizes and readers, and what computing
// a value costs. Says what the memory of the step would be if some values were dropped after their readers of the forward pass and
// computed again for those of the backward pass, without touching the step. FitMemoryBudget searches on it and then does what it found.
#pragma once

#include "passes/StepMemory.h"
#include "runtime/ArenaPlanner.h"

namespace nncc::passes {

class StepTimeline {
public:
  StepTimeline(mlir::Block &block, const DimValues &dims);

  struct Value {
    mlir::Value value;        ///< the kernel's result
    int64_t bytes = 0;
    unsigned kernel = 0;      ///< that computes it
    llvm::SmallVector<unsigned, 4> readers; ///< kernels, in order
    /// The longest time in which nobody reads it, from the kernel `gapBegin` to the kernel `gapEnd`.
    unsigned gapBegin = 0, gapEnd = 0;
    bool canRecompute = false;
    double cost = 0; ///< of the kernel, in bytes that could be moved in the time
  };

  /// What a choice of values to compute again comes to.
  struct Plan {
    std::vector<int64_t> liveBytes; ///< at each step, repeated ones included
    int64_t peakBytes = 0;
    double cost = 0;
    std::vector<rt::ArenaItem> items;
    /// For each value the kernel before which it is computed again.
    std::vector<unsigned> recomputedBefore;
  };

  using Choice = std::vector<bool>; ///< per value
  Plan plan(const Choice &recomputed) const;
  /// Bytes of the arena that the runtime will make for it; INT64_MAX when they overflow.
  int64_t arenaBytes(const Plan &plan) const;

  llvm::ArrayRef<Value> getValues() const { return values; }
  nn::KernelOp kernelAt(unsigned index) const { return kernels[index].op; }
  /// The value of the arena in whose memory `value` lies, by number.
  std::optional<unsigned> numberOf(mlir::Value value) const;

private:
  struct Kernel {
    nn::KernelOp op;
    llvm::SmallVector<unsigned, 4> inputs;       ///< values, each once
    llvm::SmallVector<unsigned, 1> results;
    llvm::SmallVector<unsigned, 2> overwritable; ///< inputs in whose memory the result may lie
  };

  std::vector<Kernel> kernels;
  std::vector<Value> values;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
};

} // namespace nncc::passes
