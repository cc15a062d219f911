// The counter-based random generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC11): a function of key and counter without any state, so that a
// number depends on what it is for and never on the order in which threads ask. Header only.
#pragma once

#include <array>
#include <cstdint>

namespace nncc {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Four random 32-bit numbers.
constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53) * counter[0];
    uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// In [0, 1), with the 24 bits that a float holds.
constexpr float toUnitInterval(uint32_t bits) { return float(bits >> 8) * 0x1p-24f; }

} // namespace nncc
