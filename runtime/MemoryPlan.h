// The memory of one entry point for one binding of the named dims: the size of every buffer and,
// from the lifetimes that the steps imply, the arena offset of every intermediate. Takes a verified
// Program; feeds runtime/Binding and the compiler's
// --report.
#pragma once

#include "runtime/Program.h"

#include <span>

namespace nncc::rt {

struct MemoryPlan {
  std::vector<int64_t> sizesBytes; ///< per buffer of the program; 0 for one not in use
  std::vector<int64_t>
      arenaOffsetsBytes; ///< per buffer; -1 for one outside the arena of this entry point
  int64_t arenaBytes = 0;
  int64_t sumBytes = 0;        ///< without sharing
  int64_t lowerBoundBytes = 0; ///< the largest live set
};

/// A user error when sizes overflow for these dims; an internal error when a reference leaves its
/// buffer.
Result<MemoryPlan> planMemory(const Program &program, const EntryPoint &entry,
                              std::span<const int64_t> dims);

} // namespace nncc::rt
