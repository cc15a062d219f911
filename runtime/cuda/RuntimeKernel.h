// A kernel that is the runtime's and no model's: what libraries leave to be done around their functions. Compiled by NVRTC when it is
// first needed, through the kernel cache.
#pragma once

#include "runtime/cuda/KernelLoader.h"

namespace nncc::rt::cuda {

/// "using Element = unsigned short;": for kernels that move elements and do not look into them.
const char *elementHeader(DType dtype);

class RuntimeKernel {
public:
  /// `header` stands before the text. An environment error without NVRTC.
  static Result<RuntimeKernel> create(std::shared_ptr<const Device> device, const char *symbol,
                                      const std::string &header, const char *text);

  struct Grid {
    int64_t x = 1, y = 1, z = 1;
  };
  /// `what` stands in the error: "cannot bring a filter into another layout".
  Result<void> launch(const Grid &grid, unsigned threads, void **arguments, CUstream stream,
                      const char *what) const;

private:
  std::shared_ptr<const Device> device;
  KernelTable table;
};

} // namespace nncc::rt::cuda
