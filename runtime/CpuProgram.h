// A model loaded for the CPU: the variant that this CPU runs best, and the weights in host memory.
#pragma once

#include "runtime/LoadedProgram.h"
#include "runtime/Weights.h"

namespace nncc::rt {

class CpuProgram final : public LoadedProgram {
public:
  static Result<std::shared_ptr<const CpuProgram>> load(const ModelDescriptor &descriptor,
                                                        const LoadOptions &options);

  const char *target() const override { return "cpu"; }
  std::string codeName() const override { return level; }
  Result<std::unique_ptr<Instance>> createInstance(const ThreadOptions &threads,
                                                   const Allocator &allocator,
                                                   bool trains = false) const override;

  std::span<const CpuKernel> kernels() const {
    return functions;
  } ///< one per kernel of the program
  const Weights &weights() const { return loadedWeights; }

private:
  CpuProgram() = default;
  Result<void> chooseVariant(const ModelDescriptor &descriptor);

  std::vector<CpuKernel> functions;
  std::string level;
  Weights loadedWeights;
};

} // namespace nncc::rt
