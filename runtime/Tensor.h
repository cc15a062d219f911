// Borrowed tensors as the runtime's inner side sees them, and how types and shapes are spelled in
// messages.
#pragma once

#include "runtime/Program.h"

#include <span>
#include <string>

namespace nncc::rt {

/// Where the elements of a tensor are.
struct MemoryPlace {
  enum Kind : uint8_t {
    Host,
    PinnedHost, ///< host memory that a CUDA device reads without a copy by the processor
    Cuda,
  };
  Kind kind = Host;
  int ordinal = 0; ///< of the CUDA device
};

/// A dense row-major tensor in somebody else's memory.
struct TensorView {
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
  void *data = nullptr;
  MemoryPlace place = {};
};

/// "f32[7, 1, 28, 28]"
std::string describeType(std::string_view dtypeName, std::span<const int64_t> shape);

/// "f32[N, 1, 28, 28]"
std::string describeType(const Buffer &buffer, std::span<const std::string> dimNames);

} // namespace nncc::rt
