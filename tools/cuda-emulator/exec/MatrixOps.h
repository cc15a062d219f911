// How an mma.sync shape is passed from translated code to the runtime. Fragments are arrays of 32-bit
// registers in the order of the PTX manual.
#pragma once

#include <cstdint>

namespace nncc::cuemu {

enum class MatrixElement : uint32_t { F16, BF16, TF32, I8 };

/// An m16n8kK multiplication.
struct MatrixShape {
  MatrixElement element = MatrixElement::F16;
  uint32_t k = 16;
  bool halfAccumulators = false; ///< C and D are f16
  bool unsignedA = false, unsignedB = false;
  bool saturate = false;         ///< .satfinite of integer accumulators

  uint32_t pack() const {
    return static_cast<uint32_t>(element) | k << 8 | uint32_t{halfAccumulators} << 16 |
           uint32_t{unsignedA} << 17 | uint32_t{unsignedB} << 18 | uint32_t{saturate} << 19;
  }
  static MatrixShape unpack(uint32_t bits) {
    MatrixShape shape;
    shape.element = static_cast<MatrixElement>(bits & 0xff);
    shape.k = bits >> 8 & 0xff;
    shape.halfAccumulators = bits >> 16 & 1;
    shape.unsignedA = bits >> 17 & 1;
    shape.unsignedB = bits >> 18 & 1;
    shape.saturate = bits >> 19 & 1;
    return shape;
  }
  uint32_t elementBits() const {
    return element == MatrixElement::I8 ? 8 : element == MatrixElement::TF32 ? 32 : 16;
  }
  /// Registers per lane: the matrix's bits over 32 lanes of 32-bit registers.
  uint32_t registersA() const { return 16 * k * elementBits() / 1024; }
  uint32_t registersB() const { return 8 * k * elementBits() / 1024; }
  uint32_t registersC() const { return halfAccumulators ? 2 : 4; }
};

} // namespace nncc::cuemu
