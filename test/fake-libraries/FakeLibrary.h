// What the stand-ins for cuBLASLt and cuDNN share: plain kernels, compiled by NVRTC when they are
// first needed and launched on the caller's stream through the driver that the caller uses, and
// failures on demand. They compute in double precision in the simplest way, so that what the
// runtime makes of a call shows in numbers on the stand-in CUDA device.
//
//   NNCC_FAKE_FAIL=FUNCTION:N:STATUS   the N-th call of FUNCTION (`*`: every call) returns STATUS
//   and does nothing; read at every call NNCC_FAKE_WRONG=1                  results are too large
//   by one
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fakelibrary {

/// The status that NNCC_FAKE_FAIL asks of this call, or 0.
int failureOf(const char *function);
bool isWrong();

/// Launches `elements` threads of a kernel, whose text is CUDA C++ behind the functions load and
/// store for elements of any type. False when it cannot be compiled or launched.
bool launch(const char *text, const char *kernel, int64_t elements, void **arguments, void *stream);

/// Element types as the kernels know them.
enum Element : int { kF32, kF64, kF16, kBF16 };

} // namespace fakelibrary

/// Ends the function it stands in where a failure is asked for.
#define NNCC_FAKE_ENTRY(name)                                                                      \
  if (int status = fakelibrary::failureOf(#name))                                                  \
  return status
