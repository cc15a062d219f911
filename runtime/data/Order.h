// The order in which an epoch takes the samples: a function of seed and epoch alone.
#pragma once

#include <cstdint>
#include <vector>

namespace nncc::data {

/// What random numbers are for: part of every Philox counter, so that no two uses share any.
enum class RandomUse : uint32_t { Shuffle = 1, Augment = 2 };

/// A permutation of 0 to count - 1.
std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed, int64_t epoch);

} // namespace nncc::data
