// From the tensors of a call to everything that a run needs. bindDims takes the inputs' types and
// leaves the values of the named dims; bindEntry takes those and leaves sizes, offsets and task
// counts of every step, which an instance keeps for as long as the dims stay the same.
#pragma once

#include "runtime/KernelAbi.h"
#include "runtime/MemoryPlan.h"
#include "runtime/Tensor.h"
#include "support/CheckedSize.h"

namespace nncc::rt {

struct BoundArg {
  uint32_t buffer;
  int64_t offsetBytes;
};

struct BoundStep {
  CpuKernel function; ///< nullptr for a device that launches its kernels otherwise
  uint32_t kernel;   ///< index in the program
  uint32_t firstArg; ///< index in BoundEntry::args
  int64_t taskCount;
  int64_t flops;
  int64_t trafficBytes;
  bool isParallel; ///< large enough for more than one thread
};

struct BoundEntry {
  const EntryPoint *entry = nullptr;
  std::vector<int64_t> dims;
  MemoryPlan memory;
  std::vector<BoundArg> args;
  std::vector<BoundStep> steps;
  std::vector<std::vector<int64_t>> outputShapes; ///< per output of the entry point
  int64_t scratchBytesPerLane = 0;                ///< a multiple of kBufferAlignmentBytes

  /// The arena, then the scratch memory of each lane; more than any memory when that does not fit
  /// in 63 bits.
  int64_t workspaceBytes(int lanes) const {
    return (CheckedSize(memory.arenaBytes) + CheckedSize(scratchBytesPerLane) * lanes)
        .getOr(INT64_MAX);
  }
};

/// Checks number, dtype, rank and extents of the inputs and the ranges of the named dims. User
/// errors.
Result<std::vector<int64_t>> bindDims(const Program &program, const EntryPoint &entry,
                                      std::span<const TensorView> inputs);

/// `kernels` holds one function per kernel of the program, or nothing.
Result<BoundEntry> bindEntry(const Program &program, const EntryPoint &entry,
                             std::span<const CpuKernel> kernels, std::span<const int64_t> dims);

/// Checks number, dtype and shape of the tensors that receive the outputs.
Result<void> checkOutputs(const Program &program, const BoundEntry &bound,
                          std::span<const TensorView> outputs);

} // namespace nncc::rt
