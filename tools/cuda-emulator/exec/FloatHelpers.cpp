// See FloatHelpers.h. Directed rounding is done by the host's rounding mode, set around one operation
// whose operands are volatile so that it is neither folded nor moved.
#include "tools/cuda-emulator/exec/FloatHelpers.h"

#include "tools/cuda-emulator/exec/ThreadContext.h"

#include <bit>
#include <cfenv>
#include <cmath>

namespace nncc::cuemu {
namespace {

class RoundingScope {
public:
  explicit RoundingScope(uint32_t rounding) : previous(std::fegetround()) {
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
    std::fesetround(modes[rounding]);
  }
  ~RoundingScope() { std::fesetround(previous); }

private:
  int previous;
};

template <typename T> T roundedOperation(uint32_t op, uint32_t rounding, T left, T right, T addend) {
  volatile T a = left, b = right, c = addend, result = 0;
  RoundingScope scope(rounding);
  switch (static_cast<FloatOp>(op)) {
  case FloatOp::Add:
    result = a + b;
    break;
  case FloatOp::Subtract:
    result = a - b;
    break;
  case FloatOp::Multiply:
    result = a * b;
    break;
  case FloatOp::Divide:
    result = a / b;
    break;
  case FloatOp::SquareRoot:
    result = std::sqrt(a);
    break;
  case FloatOp::Fma:
    result = std::fma(a, b, c);
    break;
  }
  return result;
}

/// Rounds a double to a format of `mantissaBits` stored bits whose exponents start at `minExponent`
/// (that of the smallest normal number) and whose largest finite value is `largest`. The result is
/// exact in a double.
double roundToFormat(double value, int mantissaBits, int minExponent, double largest, uint32_t mode) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, minExponent);
  double unit = std::ldexp(1.0, exponent - mantissaBits);
  double scaled = value / unit; // exact: unit is a power of two, and |scaled| < 2^(mantissaBits + 1)
  double rounded = 0;
  switch (static_cast<Rounding>(mode)) {
  case Rounding::NearestEven:
    rounded = std::nearbyint(scaled);
    break;
  case Rounding::Zero:
    rounded = std::trunc(scaled);
    break;
  case Rounding::MinusInfinity:
    rounded = std::floor(scaled);
    break;
  case Rounding::PlusInfinity:
    rounded = std::ceil(scaled);
    break;
  case Rounding::NearestAway:
    rounded = std::round(scaled);
    break;
  }
  double result = std::copysign(rounded * unit, value);
  if (std::fabs(result) <= largest)
    return result;
  bool staysFinite = mode == static_cast<uint32_t>(Rounding::Zero) ||
                     (mode == static_cast<uint32_t>(Rounding::MinusInfinity) && value > 0) ||
                     (mode == static_cast<uint32_t>(Rounding::PlusInfinity) && value < 0);
  return std::copysign(staysFinite ? largest : HUGE_VAL, value);
}

/// a * b + c for operands of at most 24 significant bits, rounded to odd: rounding the result again to
/// a narrower format gives what one exact rounding would.
double fmaRoundedToOdd(double a, double b, double c) {
  double product = a * b; // exact
  double sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  double virtualC = sum - product;
  double error = (product - (sum - virtualC)) + (c - virtualC);
  if (error != 0 && (std::bit_cast<uint64_t>(sum) & 1) == 0)
    sum = std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
  return sum;
}

float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

} // namespace

extern "C" {

float emuRound32(uint32_t op, uint32_t rounding, float a, float b, float c) {
  return roundedOperation<float>(op, rounding, a, b, c);
}

double emuRound64(uint32_t op, uint32_t rounding, double a, double b, double c) {
  return roundedOperation<double>(op, rounding, a, b, c);
}

float emuIntToFloat32(uint64_t value, uint32_t isSigned, uint32_t rounding) {
  volatile uint64_t bits = value;
  RoundingScope scope(rounding);
  volatile float result =
      isSigned ? static_cast<float>(static_cast<int64_t>(bits)) : static_cast<float>(bits);
  return result;
}

double emuIntToFloat64(uint64_t value, uint32_t isSigned, uint32_t rounding) {
  volatile uint64_t bits = value;
  RoundingScope scope(rounding);
  volatile double result =
      isSigned ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits);
  return result;
}

float emuDoubleToFloat(double value, uint32_t rounding) {
  volatile double input = value;
  RoundingScope scope(rounding);
  volatile float result = static_cast<float>(input);
  return result;
}

float emuHalfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 0x3ff;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0)
    return std::copysign(std::ldexp(static_cast<float>(mantissa), -24),
                         std::bit_cast<float>(sign | 0x3f800000u));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t emuDoubleToHalf(double value, uint32_t rounding) {
  if (std::isnan(value))
    return 0x7fff;
  double rounded = roundToFormat(value, 10, -14, 65504.0, rounding);
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  double magnitude = std::fabs(rounded);
  if (std::isinf(magnitude))
    return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0, -14))
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(magnitude, 24)));
  int exponent;
  double fraction = std::frexp(magnitude, &exponent); // [0.5, 1)
  auto mantissa = static_cast<uint16_t>(std::ldexp(fraction, 11));
  return static_cast<uint16_t>(sign | (exponent + 14) << 10 | (mantissa & 0x3ff));
}

uint16_t emuDoubleToBFloat(double value, uint32_t rounding) {
  if (std::isnan(value))
    return 0x7fff;
  double largest = std::ldexp(255.0, 120);
  auto rounded = static_cast<float>(roundToFormat(value, 7, -126, largest, rounding));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16);
}

uint16_t emuFmaHalf(uint16_t a, uint16_t b, uint16_t c) {
  return emuDoubleToHalf(fmaRoundedToOdd(emuHalfToFloat(a), emuHalfToFloat(b), emuHalfToFloat(c)),
                         static_cast<uint32_t>(Rounding::NearestEven));
}

uint16_t emuFmaBFloat(uint16_t a, uint16_t b, uint16_t c) {
  return emuDoubleToBFloat(fmaRoundedToOdd(bfloatToFloat(a), bfloatToFloat(b), bfloatToFloat(c)),
                           static_cast<uint32_t>(Rounding::NearestEven));
}

uint32_t emuFloatToTf32(float value, uint32_t rounding) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return 0x7fffffff;
  if (std::isinf(value))
    return bits;
  uint32_t half = 0x1000, kept = bits & ~0x1fffu, rest = bits & 0x1fffu;
  bool roundsUp = rest > half || (rest == half && (rounding == static_cast<uint32_t>(Rounding::NearestAway) ||
                                                   (kept & 0x2000)));
  if (rounding == static_cast<uint32_t>(Rounding::Zero))
    roundsUp = false;
  return roundsUp ? kept + 0x2000 : kept;
}

} // extern "C"

} // namespace nncc::cuemu
