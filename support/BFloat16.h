// bf16, which C++20 has no type for, as its 16 bits: the upper half of a float. Header only.
#pragma once

#include <bit>
#include <cstdint>

namespace nncc {

/// Rounded to nearest even. A NaN stays one.
constexpr uint16_t toBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

constexpr float fromBFloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

} // namespace nncc
