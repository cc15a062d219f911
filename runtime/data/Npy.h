// NumPy's .npy files. Takes versions 1 to 3, little-endian or single-byte elements, C or Fortran
// order; leaves row-major data.
#pragma once

#include "runtime/HostTensor.h"
#include "support/Error.h"

#include <span>
#include <string>
#include <vector>

namespace nncc::data {

/// An array where it lies in the bytes of a file; its elements need not be aligned.
struct NpyArray {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  bool isFortranOrder = false;
  std::span<const std::byte> data;
};

/// What the bytes hold, without a copy; `origin` stands in error messages.
Result<NpyArray> viewNpy(std::span<const std::byte> bytes, const std::string &origin);

/// The same as a tensor of its own, in row-major order.
Result<rt::HostTensor> parseNpy(std::span<const std::byte> bytes, const std::string &origin);

Result<rt::HostTensor> readNpy(const std::string &path);

/// Writes version 1.0, which every NumPy reads. bf16 is refused: the format has no name for it.
Result<void> writeNpy(const std::string &path, DType dtype, std::span<const int64_t> shape,
                      const void *data);

} // namespace nncc::data
