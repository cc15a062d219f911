// NumPy's .npy files. Takes versions 1 to 3, little-endian or single-byte elements, C or Fortran
// order; leaves row-major data.
#pragma once

#include "runtime/HostTensor.h"
#include "support/Error.h"

#include <span>
#include <string>

namespace nncc::rt {

Result<HostTensor> readNpy(const std::string &path);

/// The same from bytes in memory; `origin` stands in error messages.
Result<HostTensor> parseNpy(std::span<const std::byte> bytes, const std::string &origin);

/// Writes version 1.0, which every NumPy reads. bf16 is refused: the format has no name for it.
Result<void> writeNpy(const std::string &path, DType dtype, std::span<const int64_t> shape,
                      const void *data);

} // namespace nncc::rt
