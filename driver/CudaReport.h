// --report for CUDA devices: what each matrix product and convolution takes of a multiprocessor, and what share of the device's
// roofline it is expected to reach.
#pragma once

#include "driver/Stages.h"

namespace nncc::driver {

/// A table with a row for each step of "infer" that multiplies matrices or convolves, at the smallest named dims, on the device that
/// runtime/cuda/GpuModel.h has for `architecture` ("sm_80"). Registers are those of the machine code where there is NVRTC, else the
/// most that the kernels may have. A user error for an architecture that is not in the table.
Result<std::string> reportCudaKernels(const rt::Program &program, llvm::ArrayRef<codegen::cuda::CudaSource> sources,
                                      const std::string &architecture);

} // namespace nncc::driver
