// Which thread of a block loads which part of a slice of an operand.
#pragma once

#include "codegen/cuda/KernelCode.h"

namespace nncc::codegen::cuda {

/// How a slice of `along` x `across` elements is loaded: units of `vector` neighbours along `along`, one after another to the threads.
struct LoadPlan {
  LoadPlan(int64_t along, int64_t across, int64_t vector, int64_t threads)
      : vector(vector), unitsAlong(along / vector), units(unitsAlong * across), threads(threads),
        perThread((units + threads - 1) / threads) {}
  int64_t vector, unitsAlong, units, threads, perThread;
  /// Positions along do not depend on the number of the load.
  bool isRegular() const { return threads % unitsAlong == 0; }
  bool isPartial() const { return units % threads != 0; }
  /// A thread has several loads: what belongs to one stands in an array, and what is done for all in a loop over `u`.
  bool isLoop() const { return perThread > 1; }
  /// The variable of load `u` of those called `name`, and its declaration.
  std::string at(const std::string &name) const { return isLoop() ? name + "[u]" : name; }
  std::string declarator(const std::string &name) const { return isLoop() ? name + "[" + std::to_string(perThread) + "]" : name; }
  /// The condition for load `u` of a thread when not every thread has it.
  std::string guard() const { return (isLoop() ? "thread + u * kThreads < " : "thread < ") + std::to_string(units); }
  /// Writes what is done for each load.
  void forLoads(KernelCode &code, llvm::function_ref<void()> write) const;
};

struct LoadPlace {
  mlir::Value along, across;
};

/// Place of load `u` of the thread within its slice.
LoadPlace placeOf(KernelCode &code, const LoadPlan &plan, mlir::Value u);

} // namespace nncc::codegen::cuda
