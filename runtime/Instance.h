// One stream of runs over a shared LoadedProgram: workspace, threads, the bindings of recent dims,
// times. An instance serves one call at a time; several instances run at the same time.
#pragma once

#include "runtime/LoadedProgram.h"

namespace nncc::rt {

class Instance {
public:
  static Result<std::unique_ptr<Instance>> create(std::shared_ptr<const LoadedProgram> model,
                                                  const ThreadOptions &threads,
                                                  const Allocator &allocator);

  /// The binding for these inputs (checked) or these dims (their range is checked). Valid until the
  /// next call.
  Result<const BoundEntry *> bindInputs(const EntryPoint &entry,
                                        std::span<const TensorView> inputs);
  Result<const BoundEntry *> bind(const EntryPoint &entry, std::span<const int64_t> dims);

  /// Workspace that a run of this binding needs.
  int64_t workspaceBytes(const BoundEntry &bound) const {
    return bound.workspaceBytes(pool->lanes());
  }

  /// Runs the entry point. `workspace` is the caller's memory, 64-byte aligned, or empty: then the
  /// instance keeps its own.
  Result<void> run(const EntryPoint &entry, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs, std::span<std::byte> workspace);

  /// Switching on clears the times.
  void setProfiling(bool isOn);
  /// Per step of the entry point; empty before its first profiled run.
  std::span<const StepTimes> timesOf(const EntryPoint &entry) const;

  /// The binding of the last run or plan; nullptr before the first.
  const BoundEntry *lastBinding() const {
    return bindings.empty() ? nullptr : bindings.front().get();
  }
  int lanes() const { return pool->lanes(); }
  const LoadedProgram &model() const { return *program; }
  const Allocator &allocator() const { return memoryAllocator; }

private:
  Instance() = default;
  size_t indexOf(const EntryPoint &entry) const;
  Result<void> allocateState();
  Result<std::byte *> findWorkspace(const BoundEntry &bound, std::span<std::byte> given);

  std::shared_ptr<const LoadedProgram> program;
  Allocator memoryAllocator;
  std::unique_ptr<TaskPool> pool;
  std::vector<std::unique_ptr<BoundEntry>> bindings; ///< most recently used first
  std::vector<MemoryBlock> stateBlocks;
  std::vector<std::byte *> fixedBases; ///< per buffer: weights and state
  std::vector<std::byte *> bases;      ///< per buffer, for the present run
  std::vector<void *> argPointers;
  MemoryBlock ownWorkspace;
  bool isProfiling = false;
  std::vector<std::vector<StepTimes>> times; ///< per entry point
};

} // namespace nncc::rt
