// The one integer type in which shapes, element counts, byte sizes and offsets are computed, by the
// compiler and the runtime alike. An operation that leaves [INT64_MIN, INT64_MAX] makes the result
// invalid, and invalid values stay invalid, so that a whole formula is checked once, at its end.
// Header only, free of LLVM and of exceptions.
#pragma once

#include <cstdint>
#include <optional>

namespace nncc {

class CheckedSize {
public:
  constexpr CheckedSize() = default;
  constexpr CheckedSize(int64_t value) : number(value) {}

  static constexpr CheckedSize invalid() {
    CheckedSize size;
    size.isValid = false;
    return size;
  }

  /// True while no operation that led here overflowed or divided by zero.
  constexpr bool valid() const { return isValid; }

  /// The value, or nothing when a step overflowed.
  constexpr std::optional<int64_t> get() const {
    return isValid ? std::optional<int64_t>(number) : std::nullopt;
  }

  constexpr int64_t getOr(int64_t fallback) const { return isValid ? number : fallback; }

  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) {
    CheckedSize r;
    r.isValid = a.isValid && b.isValid && !__builtin_add_overflow(a.number, b.number, &r.number);
    return r;
  }
  friend constexpr CheckedSize operator-(CheckedSize a, CheckedSize b) {
    CheckedSize r;
    r.isValid = a.isValid && b.isValid && !__builtin_sub_overflow(a.number, b.number, &r.number);
    return r;
  }
  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) {
    CheckedSize r;
    r.isValid = a.isValid && b.isValid && !__builtin_mul_overflow(a.number, b.number, &r.number);
    return r;
  }

  /// Quotient rounded towards minus infinity; invalid for a zero divisor.
  friend constexpr CheckedSize floorDiv(CheckedSize a, CheckedSize b) {
    if (!divides(a, b))
      return invalid();
    int64_t q = a.number / b.number;
    bool inexact = a.number % b.number != 0;
    return CheckedSize(inexact && ((a.number < 0) != (b.number < 0)) ? q - 1 : q);
  }

  /// Quotient rounded towards plus infinity; invalid for a zero divisor.
  friend constexpr CheckedSize ceilDiv(CheckedSize a, CheckedSize b) {
    if (!divides(a, b))
      return invalid();
    int64_t q = a.number / b.number;
    bool inexact = a.number % b.number != 0;
    return CheckedSize(inexact && ((a.number < 0) == (b.number < 0)) ? q + 1 : q);
  }

  /// The smallest multiple of `unit` that is not below `a`.
  friend constexpr CheckedSize roundUp(CheckedSize a, CheckedSize unit) {
    return ceilDiv(a, unit) * unit;
  }

  CheckedSize &operator+=(CheckedSize b) { return *this = *this + b; }
  CheckedSize &operator*=(CheckedSize b) { return *this = *this * b; }

private:
  static constexpr bool divides(CheckedSize a, CheckedSize b) {
    return a.isValid && b.isValid && b.number != 0 && !(a.number == INT64_MIN && b.number == -1);
  }

  int64_t number = 0;
  bool isValid = true;
};

} // namespace nncc
