// The spelling of tensor types in messages.
#include "runtime/Tensor.h"

namespace nncc::rt {

std::string describeType(std::string_view dtypeName, std::span<const int64_t> shape) {
  std::string text = std::string(dtypeName) + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string describeType(const Buffer &buffer, std::span<const std::string> dimNames) {
  std::string text = std::string(nameOf(buffer.dtype)) + "[";
  for (size_t i = 0; i < buffer.shape.size(); ++i)
    text += (i ? ", " : "") + buffer.shape[i].toString(dimNames);
  return text + "]";
}

} // namespace nncc::rt
