// Between a logical row-major tensor and the packed form that kernels read (blocked, zero-padded,
// K-major panels, ...). Used by the compiler when it packs weights at compile time, by the
// reference for nn.pack and by export of parameters.
#pragma once

#include "support/Error.h"

#include <cstdint>
#include <span>

namespace nncc::rt {

/// One loop of the packed order, outermost first. The index in logical dim d is the sum of
/// loopIndex * step over the loops with dim == d; where it reaches past the logical extent the
/// packed element is zero. For example OIHW with 16 output channels innermost: {O, ceildiv(O, 16),
/// 16} {H, H, 1} {W, W, 1} {I, I, 1} {O, 16, 1}.
struct PackLoop {
  uint32_t dim = 0;
  int64_t extent = 1;
  int64_t step = 1;
};

/// The number of packed elements; an error when a loop names no dim of the shape, an extent is
/// negative, a step is not positive, or the count overflows.
Result<int64_t> packedElementCount(std::span<const int64_t> shape, std::span<const PackLoop> loops);

/// Fills `packed` (packedElementCount elements of elementBytes each) from the row-major `logical`.
/// The loops must have passed packedElementCount.
void packTensor(std::span<const int64_t> shape, std::span<const PackLoop> loops,
                int64_t elementBytes, const void *logical, void *packed);

/// The inverse: writes every logical element that some loop indices reach. Padding is dropped.
void unpackTensor(std::span<const int64_t> shape, std::span<const PackLoop> loops,
                  int64_t elementBytes, const void *packed, void *logical);

} // namespace nncc::rt
