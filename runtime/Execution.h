// The walk over the steps of a bound entry point: kernels, threads, status, times. Takes one base
// address per buffer; leaves the results in them. Used by instances for "infer" and by the weights
// for "prepare".
#pragma once

#include "runtime/FiniteCheck.h"
#include "runtime/TaskPool.h"

namespace nncc::rt {

/// Times of one step, summed over runs.
struct StepTimes {
  int64_t calls = 0;
  int64_t totalNs = 0;
  int64_t minNs = INT64_MAX;
  int64_t lastStartNs = 0; ///< since the beginning of the last run
  int64_t lastNs = 0;
};

struct Execution {
  const Program &program;
  const BoundEntry &bound;
  TaskPool &pool;
  std::span<std::byte *const> bases; ///< per buffer of the program
  std::byte *scratch = nullptr;      ///< scratchBytesPerLane for each lane of the pool
  std::span<void *> argPointers;     ///< room for bound.args.size() pointers
  std::span<StepTimes> times;        ///< one per step, or empty
  FiniteCheck *finiteCheck = nullptr; ///< is asked before and after each step, where given
};

/// A kernel's status other than KernelOk ends the run with an error that names the kernel and its
/// source.
Result<void> execute(const Execution &execution);

} // namespace nncc::rt
