// The CUDA driver by dlopen: one table of the functions that the project calls, filled from
// libcuda.so.1, NVIDIA's or the stand-in of tools/cuda-emulator. The list of functions is
// support/CudaDriverFunctions.h, which both sides share.
#pragma once

#include "support/CudaDriver.h"
#include "support/Error.h"

#include <memory>
#include <string>

namespace nncc::rt::cuda {

// The list of functions names the driver's types as its documentation does.
using namespace ::nncc::cuda;

struct Driver {
#define X(name, parameters, arguments) CUresult(*name) parameters = nullptr;
  NNCC_CUDA_FUNCTIONS(X)
#undef X
  int version = 0;  ///< 13000 is 13.0
  std::string file; ///< "libcuda.so.1"

  /// The driver, loaded and initialised. An environment error when there is none, when it is too
  /// old or has no device.
  static Result<std::shared_ptr<const Driver>> get();

  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
  std::string describe(CUresult code) const;

  /// An environment error: what was attempted, the call and what it returned.
  Error failure(CUresult code, const char *call, const std::string &what) const;
};

/// "13.0" for 13000, the driver's way to number versions.
std::string versionText(int version);

} // namespace nncc::rt::cuda
