// Runs on the CPU: workspace in host memory, threads.
#pragma once

#include "runtime/CpuProgram.h"
#include "runtime/Instance.h"

namespace nncc::rt {

class CpuInstance final : public Instance {
public:
  static Result<std::unique_ptr<Instance>> create(std::shared_ptr<const CpuProgram> program,
                                                  const ThreadOptions &threads,
                                                  const Allocator &allocator, bool trains);

  int64_t workspaceBytes(const BoundEntry &bound) const override {
    return bound.workspaceBytes(pool->lanes());
  }
  int lanes() const override { return pool->lanes(); }
  /// A workspace of the caller's has to be 64-byte aligned.
  Result<void> run(const EntryPoint &entry, const RunArguments &arguments) override;
  Result<DLManagedTensorVersioned *> allocateOutput(DType type, std::span<const int64_t> shape,
                                                    int64_t sizeBytes, MemoryPlace place) override;

private:
  CpuInstance(std::shared_ptr<const CpuProgram> program, bool trains);
  Result<std::unique_ptr<Binding>> makeBinding(const EntryPoint &entry,
                                               std::span<const int64_t> dims) override;
  Result<void> readBuffer(uint32_t id, int64_t offsetBytes, std::span<std::byte> to) override;
  Result<void> writeBuffer(uint32_t id, int64_t offsetBytes, std::span<const std::byte> from) override;
  Result<void> allocateState();
  Result<void> allocate(uint32_t id);
  /// Makes the constants of an instance that trains from its parameters.
  Result<void> prepare();
  Result<std::byte *> findWorkspace(const BoundEntry &bound, std::span<std::byte> given);

  std::span<const CpuKernel> kernels;
  Allocator memoryAllocator;
  std::unique_ptr<TaskPool> pool;
  std::vector<MemoryBlock> stateBlocks;
  std::vector<std::byte *> fixedBases; ///< per buffer: weights and state
  std::vector<std::byte *> bases;      ///< per buffer, for the present run
  std::vector<void *> argPointers;
  MemoryBlock ownWorkspace;
  bool hasOwnConstants = false;
};

} // namespace nncc::rt
