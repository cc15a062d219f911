// Makes a call fail on purpose, for tests of error paths: CUDA_EMULATOR_FAIL is a list of
// FUNCTION:N:CODE, separated by commas; the N-th call of FUNCTION, counted from 1, returns CODE and has no
// effect. N may be `*` for every call.
#pragma once

#include "support/CudaDriver.h"

#include <optional>

namespace nncc::cuemu {

/// The code with which this call of `function` is to fail, if it is. Counts the call.
std::optional<cuda::CUresult> injectedFailure(const char *function);

} // namespace nncc::cuemu
