// Offsets for buffers that share one block of memory (the arena): takes sizes and lifetimes, leaves
// offsets such that buffers alive at the same time never overlap. A pure function without LLVM,
// used by the compiler for its reports and by the runtime for the batch at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nncc::rt {

/// A buffer that is alive from step firstUse to step lastUse, both included.
struct ArenaItem {
  int64_t sizeBytes = 0;
  uint32_t firstUse = 0;
  uint32_t lastUse = 0;
  int64_t alignmentBytes = 64;
};

struct ArenaPlan {
  std::vector<int64_t> offsetsBytes; ///< one per item
  int64_t arenaBytes = 0;
  /// What the items would take without sharing; as the bound below, with sizes rounded up to the
  /// alignment.
  int64_t sumBytes = 0;
  /// The largest total of items alive at one step: no plan can need less.
  int64_t lowerBoundBytes = 0;
};

/// Nothing when a size is negative or a total leaves the 64-bit range.
std::optional<ArenaPlan> planArena(std::span<const ArenaItem> items);

} // namespace nncc::rt
