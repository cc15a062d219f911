// The kernels of a model that a step may run instead of its own: the same work cut into other tiles
// (Kernel::tiles). Makes launches of them for known dims, those that a tuning file chose or all.
#pragma once

#include "runtime/cuda/KernelChoices.h"
#include "runtime/cuda/LaunchPlan.h"

namespace nncc::rt::cuda {

class StepTiles {
public:
  /// All of it outlives this. `kernels` has loaded those that are asked for.
  StepTiles(const Program &program, const Device &device, const KernelTable &kernels)
      : program(program), device(device), kernels(kernels) {}

  /// Puts the tiles that were chosen into the plan.
  Result<void> choose(const KernelChoices &choices, const BoundEntry &bound, LaunchPlan &plan) const;
  /// All of a step; what is left out and why goes to `notes`.
  std::vector<StepCandidate> candidates(const BoundEntry &bound, size_t step,
                                        std::vector<std::string> &notes) const;

private:
  Result<std::unique_ptr<StepAlternative>> make(const BoundEntry &bound, size_t step,
                                                const TileVariant &variant) const;

  const Program &program;
  const Device &device;
  const KernelTable &kernels;
};

} // namespace nncc::rt::cuda
