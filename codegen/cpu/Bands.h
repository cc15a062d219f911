// How the work of a contraction is cut into tasks.
#pragma once

#include "ir/Shape.h"

#include <optional>

namespace nncc::codegen {

/// How many equal bands of at most `target` positions a static extent is cut into; for a dynamic extent, bands of `target`.
struct Bands {
  Bands(nn::Dim extent, int64_t target);
  nn::Dim count; ///< bands
  int64_t size;  ///< positions of every band but the last
  /// Positions that a band can have; nothing when the extent is dynamic.
  std::optional<llvm::SmallVector<int64_t>> sizes;
};

/// Panels per task so that one image gives several threads enough tasks.
int64_t panelsPerTask(int64_t panels, std::optional<int64_t> bandsPerImage);

} // namespace nncc::codegen
