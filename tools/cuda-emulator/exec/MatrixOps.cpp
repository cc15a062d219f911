// ldmatrix, stmatrix, movmatrix and mma.sync over the fragments of a warp's lanes. The layouts are the
// formulas of the PTX manual, with g = lane / 4 and t = lane % 4:
//   an 8x8 matrix of 16-bit elements: row g, columns 2t and 2t + 1 in one register;
//   A of m16n8kK: registers alternate between rows g and g + 8 first, then go on along K;
//   B of m16n8kK: column g, registers along K;
//   C and D: row g, columns 2t and 2t + 1, then row g + 8.
#include "tools/cuda-emulator/exec/MatrixOps.h"

#include "tools/cuda-emulator/exec/BlockScheduler.h"
#include "tools/cuda-emulator/exec/FloatHelpers.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace nncc::cuemu {
namespace {

/// Element `index` of a register, as a float.
float elementValue(const MatrixShape &shape, uint32_t word, uint32_t index) {
  switch (shape.element) {
  case MatrixElement::F16:
    return emuHalfToFloat(static_cast<uint16_t>(word >> 16 * index));
  case MatrixElement::BF16:
    return std::bit_cast<float>(word >> 16 * index << 16);
  case MatrixElement::TF32:
    // The hardware ignores the low 13 bits.
    return std::bit_cast<float>(word & 0xffffe000u);
  case MatrixElement::I8:
    break;
  }
  return 0;
}

int32_t byteValue(uint32_t word, uint32_t index, bool isUnsigned) {
  auto byte = static_cast<uint8_t>(word >> 8 * index);
  return isUnsigned ? int32_t{byte} : int32_t{static_cast<int8_t>(byte)};
}

} // namespace

void BlockScheduler::computeLoadMatrix(uint32_t warp) {
  uint32_t count = request(warp, 0).mode & 0xff;
  bool isTransposed = request(warp, 0).mode >> 8;
  for (uint32_t matrix = 0; matrix < count; matrix++) {
    uint16_t elements[8][8];
    for (uint32_t row = 0; row < 8; row++)
      std::memcpy(elements[row], request(warp, matrix * 8 + row).input, 16);
    for (uint32_t lane = 0; lane < 32; lane++) {
      uint32_t g = lane / 4, t = lane % 4;
      uint32_t low = isTransposed ? elements[2 * t][g] : elements[g][2 * t];
      uint32_t high = isTransposed ? elements[2 * t + 1][g] : elements[g][2 * t + 1];
      static_cast<uint32_t *>(request(warp, lane).output)[matrix] = low | high << 16;
    }
  }
}

void BlockScheduler::computeStoreMatrix(uint32_t warp) {
  uint32_t count = request(warp, 0).mode & 0xff;
  bool isTransposed = request(warp, 0).mode >> 8;
  for (uint32_t matrix = 0; matrix < count; matrix++) {
    uint16_t elements[8][8];
    for (uint32_t lane = 0; lane < 32; lane++) {
      uint32_t g = lane / 4, t = lane % 4;
      uint32_t value = static_cast<const uint32_t *>(request(warp, lane).input)[matrix];
      for (uint32_t i = 0; i < 2; i++)
        (isTransposed ? elements[2 * t + i][g] : elements[g][2 * t + i]) = static_cast<uint16_t>(value >> 16 * i);
    }
    for (uint32_t row = 0; row < 8; row++)
      std::memcpy(request(warp, matrix * 8 + row).output, elements[row], 16);
  }
}

void BlockScheduler::computeMoveMatrix(uint32_t warp) {
  uint16_t elements[8][8];
  for (uint32_t lane = 0; lane < 32; lane++)
    for (uint32_t i = 0; i < 2; i++)
      elements[lane / 4][lane % 4 * 2 + i] = static_cast<uint16_t>(request(warp, lane).value >> 16 * i);
  for (uint32_t lane = 0; lane < 32; lane++) {
    uint32_t g = lane / 4, t = lane % 4;
    *static_cast<uint32_t *>(request(warp, lane).output) = elements[2 * t][g] | uint32_t{elements[2 * t + 1][g]} << 16;
  }
}

// Products are exact in f32 for the 16-bit formats; sums are made in double and rounded once, which is at
// least as exact as any order in which the hardware may add.
void BlockScheduler::computeMultiply(uint32_t warp) {
  auto shape = MatrixShape::unpack(request(warp, 0).mode);
  uint32_t perRegister = 32 / shape.elementBits();
  bool isInteger = shape.element == MatrixElement::I8;
  float a[16][32], b[32][8];
  int32_t ai[16][32], bi[32][8];
  for (uint32_t lane = 0; lane < 32; lane++) {
    auto &operands = *static_cast<const MatrixOperands *>(request(warp, lane).input);
    uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t r = 0; r < shape.registersA(); r++)
      for (uint32_t i = 0; i < perRegister; i++) {
        uint32_t row = g + 8 * (r % 2), column = t * perRegister + i + r / 2 * 4 * perRegister;
        if (isInteger)
          ai[row][column] = byteValue(operands.a[r], i, shape.unsignedA);
        else
          a[row][column] = elementValue(shape, operands.a[r], i);
      }
    for (uint32_t r = 0; r < shape.registersB(); r++)
      for (uint32_t i = 0; i < perRegister; i++) {
        uint32_t row = t * perRegister + i + r * 4 * perRegister;
        if (isInteger)
          bi[row][g] = byteValue(operands.b[r], i, shape.unsignedB);
        else
          b[row][g] = elementValue(shape, operands.b[r], i);
      }
  }
  for (uint32_t lane = 0; lane < 32; lane++) {
    auto &operands = *static_cast<const MatrixOperands *>(request(warp, lane).input);
    uint32_t g = lane / 4, t = lane % 4;
    uint32_t half[2] = {};
    for (uint32_t i = 0; i < 4; i++) {
      uint32_t row = g + 8 * (i / 2), column = 2 * t + i % 2;
      if (isInteger) {
        int64_t sum = static_cast<int32_t>(operands.c[i]);
        for (uint32_t k = 0; k < shape.k; k++)
          sum += int64_t{ai[row][k]} * bi[k][column];
        if (shape.saturate)
          sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
        operands.d[i] = static_cast<uint32_t>(sum);
        continue;
      }
      double sum = shape.halfAccumulators ? emuHalfToFloat(static_cast<uint16_t>(operands.c[i / 2] >> 16 * (i % 2)))
                                          : std::bit_cast<float>(operands.c[i]);
      for (uint32_t k = 0; k < shape.k; k++)
        sum += double{a[row][k]} * b[k][column];
      if (shape.halfAccumulators)
        half[i / 2] |= uint32_t{emuDoubleToHalf(sum, 0)} << 16 * (i % 2);
      else
        operands.d[i] = std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
    if (shape.halfAccumulators)
      std::memcpy(operands.d, half, sizeof(half));
  }
}

} // namespace nncc::cuemu
