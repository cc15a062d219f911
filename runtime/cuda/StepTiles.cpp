// Launches of other tiles; see StepTiles.h.

#include "runtime/cuda/StepTiles.h"

#include <algorithm>

namespace nncc::rt::cuda {
namespace {

class TileAlternative final : public StepAlternative {
public:
  TileAlternative(const Device &device, const KernelTable &kernels, const TileVariant &variant,
                  int64_t workspaceBytes)
      : device(device), kernels(kernels), variant(variant) {
    neededBytes = workspaceBytes;
  }

  Result<void> bind(const Program &program, const BoundEntry &bound, size_t step) {
    auto bindOne = [&](uint32_t kernel, KernelLaunch &to) -> Result<void> {
      auto made = KernelLaunch::make(program, program.kernels[kernel], bound, step);
      if (!made)
        return made.error();
      to = std::move(*made);
      return {};
    };
    if (auto done = bindOne(variant.kernel, first); !done)
      return done;
    return variant.finish ? bindOne(*variant.finish, second) : Result<void>();
  }

  Result<void> launch(std::span<const CUdeviceptr> arguments, CUdeviceptr workspace,
                      CUstream stream) const override {
    CUdeviceptr result = arguments.back();
    // The operands of the step; what it adds up lies in front of its result.
    size_t operandCount = arguments.size() - (variant.replacesParts ? 2 : 1);
    std::vector<CUdeviceptr> pointers(arguments.begin(),
                                      arguments.begin() + static_cast<ptrdiff_t>(operandCount));
    pointers.push_back(variant.finish ? workspace : result);
    auto launched = first.launch(device, kernels.function(variant.kernel), pointers, stream);
    if (!launched || !variant.finish)
      return launched;
    pointers.push_back(result);
    return second.launch(device, kernels.function(*variant.finish), pointers, stream);
  }

private:
  const Device &device;
  const KernelTable &kernels;
  const TileVariant &variant;
  KernelLaunch first, second;
};

} // namespace

Result<std::unique_ptr<StepAlternative>> StepTiles::make(const BoundEntry &bound, size_t step,
                                                         const TileVariant &variant) const {
  CheckedSize workspaceBytes = variant.workspaceBytes.evaluate(bound.dims);
  if (!workspaceBytes.valid())
    return userError("its workspace exceeds 2^63 - 1 bytes");
  auto tile = std::make_unique<TileAlternative>(device, kernels, variant, workspaceBytes.getOr(0));
  if (auto done = tile->bind(program, bound, step); !done)
    return done.error();
  return std::unique_ptr<StepAlternative>(std::move(tile));
}

Result<void> StepTiles::choose(const KernelChoices &choices, const BoundEntry &bound,
                               LaunchPlan &plan) const {
  for (size_t step = 0; step < bound.steps.size(); ++step) {
    const Kernel &kernel = program.kernels[bound.steps[step].kernel];
    if (kernel.tiles.empty())
      continue;
    auto found = choices.find(program, bound.steps[step].kernel, bound.dims);
    if (!found)
      return found.error();
    if (!*found || !(*found)->isTile())
      continue;
    const TileVariant &variant = *choices.findTile(kernel, **found);
    auto made = make(bound, step, variant);
    if (!made) {
      Error error = made.error();
      error.message = describeKernel(kernel) + ", tile " + variant.tile + ": " + error.message;
      return error;
    }
    plan.use(step, std::move(*made), variant.replacesParts);
  }
  return {};
}

std::vector<StepCandidate> StepTiles::candidates(const BoundEntry &bound, size_t step,
                                                 std::vector<std::string> &notes) const {
  std::vector<StepCandidate> found;
  for (const TileVariant &variant : program.kernels[bound.steps[step].kernel].tiles) {
    auto made = make(bound, step, variant);
    if (made)
      found.push_back({"nncc", variant.tile, variant.replacesParts, false, std::move(*made)});
    else
      notes.push_back("tile " + variant.tile + ": " + made.error().message);
  }
  return found;
}

} // namespace nncc::rt::cuda
