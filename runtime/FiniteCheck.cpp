// Snapshots of results and the comparison of their bits; see FiniteCheck.h.
#include "runtime/FiniteCheck.h"

#include <cstring>

namespace nncc::rt {
namespace {

struct FloatFormat {
  uint64_t exponent, fraction; ///< their bits
};

/// Nothing for integers, which are always finite.
std::optional<FloatFormat> formatOf(DType type) {
  switch (type) {
  case DType::F64:
    return FloatFormat{0x7ff0000000000000, 0x000fffffffffffff};
  case DType::F32:
    return FloatFormat{0x7f800000, 0x007fffff};
  case DType::F16:
    return FloatFormat{0x7c00, 0x03ff};
  case DType::BF16:
    return FloatFormat{0x7f80, 0x007f};
  default:
    return std::nullopt;
  }
}

uint64_t bitsAt(std::span<const std::byte> bytes, size_t at, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + at, size); // little endian, as all targets are
  return bits;
}

} // namespace

Result<void> FiniteCheck::readResults(size_t step, std::vector<std::vector<std::byte>> &to) const {
  const Step &taken = bound.entry->steps[step];
  size_t first = bound.steps[step].firstArg + taken.args.size() - taken.resultCount;
  to.resize(taken.resultCount);
  for (size_t i = 0; i < to.size(); ++i) {
    const BoundArg &arg = bound.args[first + i];
    int64_t sizeBytes = formatOf(program.buffers[arg.buffer].dtype) ? bound.memory.sizesBytes[arg.buffer] - arg.offsetBytes : 0;
    to[i].resize(static_cast<size_t>(std::max<int64_t>(sizeBytes, 0)));
    if (!to[i].empty())
      if (Result<void> done = read(arg.buffer, arg.offsetBytes, to[i]); !done)
        return done;
  }
  return {};
}

Result<void> FiniteCheck::before(size_t step) { return readResults(step, earlier); }

Result<void> FiniteCheck::after(size_t step) {
  if (Result<void> done = readResults(step, now); !done)
    return done;
  const Step &taken = bound.entry->steps[step];
  for (size_t i = 0; i < now.size(); ++i) {
    DType dtype = program.buffers[taken.args[taken.args.size() - taken.resultCount + i].buffer].dtype;
    std::optional<FloatFormat> format = formatOf(dtype);
    auto size = static_cast<size_t>(sizeBytesOf(dtype));
    for (size_t at = 0; format && at + size <= now[i].size(); at += size) {
      uint64_t bits = bitsAt(now[i], at, size);
      if ((bits & format->exponent) != format->exponent || bits == bitsAt(earlier[i], at, size))
        continue;
      const Kernel &kernel = program.kernels[taken.kernel];
      return userError((kernel.source.empty() ? "" : kernel.source + ": ") + "kernel '" + kernel.name + "' made the first number that is " +
                       (bits & format->fraction ? "not a number (NaN)" : "infinite"));
    }
  }
  return {};
}

} // namespace nncc::rt
