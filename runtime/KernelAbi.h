// The calling convention between the runtime and a CPU kernel: the one place where both sides of it
// are written down. The compiler's emitters produce functions of this type; the runtime's thread
// pool calls them.
#pragma once

#include <cstdint>

namespace nncc::rt {

/// A kernel runs the independent tasks [beginTask, endTask) of its flat task range.
///   args      one pointer per argument of the step, inputs first, then results; aligned to the
///   element size only (buffers
///             of the arena and constants start on 64 bytes, but a reference may add any offset)
///   dims      values of the program's named dims, in the program's order
///   scratch   memory of this thread alone, 64-byte aligned, at least the kernel's scratchBytes;
///   nullptr when that is 0
/// Returns a KernelStatus.
using CpuKernel = int32_t (*)(void *const *args, const int64_t *dims, int64_t beginTask,
                              int64_t endTask, void *scratch);

enum KernelStatus : int32_t {
  KernelOk = 0,
  /// An index operand (gather, embedding) named an element outside the indexed dimension.
  KernelIndexOutOfRange = 1,
};

} // namespace nncc::rt
