// Comparison of results; see Compare.h.

#include "tools/nncc-run/Compare.h"
#include "runtime/Tensor.h"
#include "support/BFloat16.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

using namespace nncc;
using namespace nncc::tools;

template <typename T> static T read(const rt::HostTensor &tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.data.data() + index * sizeof value, sizeof value);
  return value;
}

double tools::elementAt(const rt::HostTensor &tensor, int64_t index) {
  switch (tensor.dtype) {
  case DType::F32:
    return read<float>(tensor, index);
  case DType::F16:
    return static_cast<float>(read<_Float16>(tensor, index));
  case DType::BF16:
    return fromBFloat16(read<uint16_t>(tensor, index));
  case DType::F64:
    return read<double>(tensor, index);
  case DType::I8:
    return read<int8_t>(tensor, index);
  case DType::U8:
  case DType::Bool:
    return read<uint8_t>(tensor, index);
  case DType::I32:
    return read<int32_t>(tensor, index);
  case DType::I64:
    return static_cast<double>(read<int64_t>(tensor, index));
  }
  return 0;
}

std::string tools::typeOf(const rt::HostTensor &tensor) {
  return rt::describeType(nameOf(tensor.dtype), tensor.shape);
}

static std::vector<int64_t> unravel(int64_t flat, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d])
    index[d] = flat % shape[d];
  return index;
}

Result<Comparison> tools::compare(const std::string &name, const rt::HostTensor &result,
                                  const rt::HostTensor &expected, const Tolerance &tolerance) {
  if (result.dtype != expected.dtype || result.shape != expected.shape)
    return userError(fmt::format("output '{}' is {}, but {} was expected", name, typeOf(result),
                                 typeOf(expected)));
  int64_t count = static_cast<int64_t>(result.data.size()) / sizeBytesOf(result.dtype);
  Comparison comparison;
  int64_t mismatches = 0, worst = -1;
  double worstExcess = 0;
  for (int64_t i = 0; i < count; ++i) {
    double actual = elementAt(result, i), wanted = elementAt(expected, i);
    if (actual == wanted || (std::isnan(actual) && std::isnan(wanted)))
      continue;
    double error = std::abs(actual - wanted);
    double allowed = tolerance.absolute + tolerance.relative * std::abs(wanted);
    if (!std::isfinite(error))
      error = INFINITY;
    comparison.maxAbsError = std::max(comparison.maxAbsError, error);
    if (wanted != 0)
      comparison.maxRelError = std::max(comparison.maxRelError, error / std::abs(wanted));
    // What is allowed near an infinity is infinite, and yet nothing but the infinity will do.
    if (!(error <= allowed) || std::isinf(error)) {
      ++mismatches;
      if (error - allowed > worstExcess || worst < 0) {
        worstExcess = error - allowed;
        worst = i;
      }
    }
  }
  comparison.matches = mismatches == 0;
  comparison.report = fmt::format("{} {}: {}, largest error {:.3g} absolute, {:.3g} relative",
                                  comparison.matches ? "match" : "MISMATCH", name, typeOf(result),
                                  comparison.maxAbsError, comparison.maxRelError);
  if (!comparison.matches)
    comparison.report += fmt::format(
        "\n  {} of {} elements differ by more than {:g} + {:g} * |expected|; the worst is at {}: "
        "{:.9g}, expected {:.9g}",
        mismatches, count, tolerance.absolute, tolerance.relative, unravel(worst, result.shape),
        elementAt(result, worst), elementAt(expected, worst));
  return comparison;
}
