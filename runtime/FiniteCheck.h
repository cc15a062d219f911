// The search for the first number that is none: which kernel of a run leaves NaN or an infinity where nothing of the kind was. Takes
// the steps of a run one by one, before and after; costs two copies of every result, so it is for a run that is known to go wrong.
#pragma once

#include "runtime/Binding.h"

#include <functional>

namespace nncc::rt {

class FiniteCheck {
public:
  /// Copies bytes of a buffer of the program to the host, behind everything that was launched.
  using Read = std::function<Result<void>(uint32_t buffer, int64_t offsetBytes, std::span<std::byte> to)>;

  FiniteCheck(const Program &program, const BoundEntry &bound, Read read)
      : program(program), bound(bound), read(std::move(read)) {}

  Result<void> before(size_t step);
  /// A user error that names the kernel, its source and the number, when step `step` made one. What was in the memory before does not
  /// count: it may be left over from tensors of other types.
  Result<void> after(size_t step);

private:
  Result<void> readResults(size_t step, std::vector<std::vector<std::byte>> &to) const;

  const Program &program;
  const BoundEntry &bound;
  Read read;
  std::vector<std::vector<std::byte>> earlier, now; ///< per result of the step
};

} // namespace nncc::rt
