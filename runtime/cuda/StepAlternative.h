// Other ways to do a step than by the kernel that it names: a function of a library, or the same
// kernel cut into other tiles. Each is ready to be put on a stream; who makes them knows the dims.
#pragma once

#include "runtime/cuda/Device.h"

#include <memory>
#include <span>
#include <string>

namespace nncc::rt::cuda {

/// Belongs to an instance and is used as the instance is: by one thread at a time.
class StepAlternative {
public:
  virtual ~StepAlternative() = default;
  int64_t workspaceBytes() const { return neededBytes; }
  /// Any number of times. `arguments`: the addresses of the step's arguments.
  virtual Result<void> launch(std::span<const CUdeviceptr> arguments, CUdeviceptr workspace,
                              CUstream stream) const = 0;

protected:
  int64_t neededBytes = 0;
};

/// What tuning tries.
struct StepCandidate {
  std::string use;       ///< as TunedKernel::use
  std::string algorithm; ///< of a library, or the tile
  bool replacesParts;    ///< does the work of the step before, too
  bool mayRoundToTf32;   ///< where the step's own kernel does not
  std::unique_ptr<StepAlternative> alternative;
};

} // namespace nncc::rt::cuda
