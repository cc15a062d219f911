// Comparison of a result with the expected one, element by element.
#pragma once

#include "runtime/HostTensor.h"
#include "support/Error.h"

#include <string>

namespace nncc::tools {

struct Tolerance {
  double relative = 1e-4;
  double absolute = 1e-4;
};

struct Comparison {
  bool matches = false;
  double maxAbsError = 0; ///< NaN when one side alone is not a number
  double maxRelError = 0;
  std::string report; ///< one line, and the place of the worst element when it does not match
};

/// An element matches when |result - expected| <= absolute + relative * |expected|, or when both
/// are the same infinity or both NaN. A user error when dtype or shape differ.
Result<Comparison> compare(const std::string &name, const rt::HostTensor &result,
                           const rt::HostTensor &expected, const Tolerance &tolerance);

/// The element at `index` of any dtype.
double elementAt(const rt::HostTensor &tensor, int64_t index);

/// "f32[2, 10]"
std::string typeOf(const rt::HostTensor &tensor);

} // namespace nncc::tools
