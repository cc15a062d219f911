// What of a call no library does: a residual behind a gradient of data, and the gradient of a relu. Takes the library's function for
// the rest; leaves a way to do the whole, in which the function writes to a workspace and a kernel of the runtime's makes the result
// of that. The result may lie where an operand of that kernel does, element by element.
#pragma once

#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/RuntimeKernel.h"

namespace nncc::rt::cuda {

class GradientGate {
public:
  /// An environment error without NVRTC.
  static Result<GradientGate> create(std::shared_ptr<const Device> device, DType dtype);

  /// result = sum + residual where `gate` is positive, else 0. `residual` and `gate` may be 0: there is none.
  Result<void> launch(CUdeviceptr sum, CUdeviceptr residual, CUdeviceptr gate, CUdeviceptr result,
                      int64_t elements, CUstream stream) const;

private:
  explicit GradientGate(RuntimeKernel kernel) : kernel(std::move(kernel)) {}
  RuntimeKernel kernel;
};

/// Whether something of the call is not for a library.
bool needsGate(const BoundCall &call);
/// What is.
BoundCall withoutGate(const BoundCall &call);

/// The call, the inner part of which `inner` does.
std::unique_ptr<StepAlternative> makeGatedCall(std::shared_ptr<const GradientGate> gate, const BoundCall &call,
                                               std::unique_ptr<StepAlternative> inner);

} // namespace nncc::rt::cuda
