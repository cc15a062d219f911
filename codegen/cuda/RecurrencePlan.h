// How the work of a recurrent layer is cut into blocks and threads; Recurrence.cpp says what the parts are for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace nncc::codegen::cuda {

/// How a block cuts its work.
struct RecurrencePlan {
  int64_t vector;       ///< elements of a state that are read at once: 16 bytes
  int64_t rows;         ///< batch rows of a block, a power of two
  int64_t parts = 1;    ///< neighbouring threads that share a unit's sums, a power of two
  int64_t units = 1;    ///< hidden units of a thread, `stride` apart
  int64_t stride;       ///< threads / parts
  int64_t padded;       ///< hidden units, filled up with zeros to whole vectors for every part
  bool isResident;      ///< the weights stay in registers
  int64_t threads() const { return stride * parts; }
  /// Rows whose gates one thread applies when the sums are complete: every kParts-th.
  int64_t ownRows() const { return std::max<int64_t>(rows / parts, 1); }
  int64_t vectorsPerPart() const { return padded / parts / vector; }
};

/// Bytes of shared memory that every device has for a block.
inline constexpr int64_t kSharedBytes = 48 * 1024;

/// Registers of a thread that resident weights, and sums, may take.
inline constexpr int64_t kWeightRegisters = 64, kSumRegisters = 32;

/// The plan for a layer of `hidden` units; `batch` where it is known, numbers take `storedBytes` in memory and `computedBytes` in
/// registers. Nothing when the states of one row are too large for shared memory.
std::optional<RecurrencePlan> planRecurrence(int64_t hidden, int64_t gates, std::optional<int64_t> batch, int64_t storedBytes,
                                             int64_t computedBytes);

} // namespace nncc::codegen::cuda
