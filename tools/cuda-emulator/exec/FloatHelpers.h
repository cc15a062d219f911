// Floating-point operations that LLVM IR does not express exactly: directed rounding, conversions to and
// from 16-bit formats with all of PTX's rounding modes, and the correctly rounded 16-bit fma. Called by
// translated code; pure functions of their arguments.
#pragma once

#include <cstdint>

namespace nncc::cuemu {

enum class FloatOp : uint32_t { Add, Subtract, Multiply, Divide, SquareRoot, Fma };

extern "C" {
/// a op b (or fma(a, b, c), sqrt(a)) rounded as `rounding` (exec/ThreadContext.h) says.
float emuRound32(uint32_t op, uint32_t rounding, float a, float b, float c);
double emuRound64(uint32_t op, uint32_t rounding, double a, double b, double c);
float emuIntToFloat32(uint64_t value, uint32_t isSigned, uint32_t rounding);
double emuIntToFloat64(uint64_t value, uint32_t isSigned, uint32_t rounding);
float emuDoubleToFloat(double value, uint32_t rounding);

/// IEEE half and bfloat16 as bit patterns.
float emuHalfToFloat(uint16_t bits);
uint16_t emuDoubleToHalf(double value, uint32_t rounding);
uint16_t emuDoubleToBFloat(double value, uint32_t rounding);
uint16_t emuFmaHalf(uint16_t a, uint16_t b, uint16_t c);
uint16_t emuFmaBFloat(uint16_t a, uint16_t b, uint16_t c);
/// Nearest tf32 (10-bit mantissa, as the bits of an f32), ties to even or away from zero.
uint32_t emuFloatToTf32(float value, uint32_t rounding);
}

} // namespace nncc::cuemu
