// The CUDA driver by dlopen: one table of the functions that the project calls, filled from libcuda.so.1, NVIDIA's or the stand-in of
// tools/cuda-emulator. The list of functions is support/CudaDriverFunctions.h, which both sides share.
#pragma once

#include "support/CudaDriver.h"
#include "support/Error.h"

#include <string>

namespace nncc::rt::cuda {

// The list of functions names the driver's types as its documentation does.
using namespace ::nncc::cuda;

struct Driver {
#define X(name, parameters, arguments) CUresult(*name) parameters = nullptr;
  NNCC_CUDA_FUNCTIONS(X)
#undef X
  int version = 0; ///< 13000 is 13.0

  /// The driver, loaded and initialised once for the process. An environment error when there is none, when it is too old or has no
  /// device.
  static Result<const Driver *> get();

  /// `done`, or an environment error: what was attempted, the driver's name for what went wrong and its text.
  Result<void> check(CUresult done, const std::string &what) const;
};

} // namespace nncc::rt::cuda
