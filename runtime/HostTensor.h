// A dense tensor in memory of its own: what the readers of data files leave and the tools hand to a
// model.
#pragma once

#include "support/DType.h"

#include <cstddef>
#include <vector>

namespace nncc::rt {

struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data; ///< row-major, native byte order
};

} // namespace nncc::rt
