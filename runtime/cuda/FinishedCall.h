// A library's function and a kernel of the runtime's behind it: the function writes to a workspace,
// the kernel makes the step's result of that. What GatedCall.h and ResidueOrder.h share.
#pragma once

#include "runtime/cuda/StepAlternative.h"

#include <vector>

namespace nncc::rt::cuda {

class FinishedCall : public StepAlternative {
public:
  /// `between`: what `inner` leaves for finish(), in bytes.
  FinishedCall(std::unique_ptr<StepAlternative> inner, int64_t between) : inner(std::move(inner)) {
    constexpr int64_t kAlignmentBytes = 256; // as memory of the device begins
    betweenOffset = (this->inner->workspaceBytes() + kAlignmentBytes - 1) & -kAlignmentBytes;
    neededBytes = betweenOffset + between;
  }

  Result<void> launch(std::span<const CUdeviceptr> arguments, CUdeviceptr workspace,
                      CUstream stream) const override {
    std::vector<CUdeviceptr> ofInner(arguments.begin(), arguments.end());
    ofInner.back() = workspace + static_cast<CUdeviceptr>(betweenOffset);
    if (auto done = inner->launch(ofInner, workspace, stream); !done)
      return done;
    return finish(ofInner.back(), arguments, stream);
  }

protected:
  /// Makes the last of the arguments of what the function wrote at `made`.
  virtual Result<void> finish(CUdeviceptr made, std::span<const CUdeviceptr> arguments,
                              CUstream stream) const = 0;

private:
  std::unique_ptr<StepAlternative> inner;
  int64_t betweenOffset = 0;
};

} // namespace nncc::rt::cuda
