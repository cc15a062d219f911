// Loading and launches; see RuntimeKernel.h.

#include "runtime/cuda/RuntimeKernel.h"

namespace nncc::rt::cuda {

const char *elementHeader(DType dtype) {
  switch (sizeBytesOf(dtype)) {
  case 2:
    return "using Element = unsigned short;\n";
  case 8:
    return "using Element = unsigned long long;\n";
  default:
    return "using Element = unsigned int;\n";
  }
}

Result<RuntimeKernel> RuntimeKernel::create(std::shared_ptr<const Device> device,
                                            const char *symbol, const std::string &header,
                                            const char *text) {
  // A program of its own, with one kernel.
  Program program;
  program.modelName = symbol;
  program.kernels.push_back({symbol, symbol, "", 0});
  ModelCudaKernel kernel{symbol, text, nullptr};
  ModelCuda model{};
  model.header = header.c_str();
  model.kernelCount = 1;
  model.kernels = &kernel;
  auto table = KernelTable::load(device, program, model, {true}, 1, LogSink());
  if (!table)
    return table.error();
  RuntimeKernel result;
  result.device = std::move(device);
  result.table = std::move(*table);
  return result;
}

Result<void> RuntimeKernel::launch(const Grid &grid, unsigned threads, void **arguments,
                                   CUstream stream, const char *what) const {
  if (CUresult code = device->driver().cuLaunchKernel(
          table.function(0), static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
          static_cast<unsigned>(grid.z), threads, 1, 1, 0, stream, arguments, nullptr))
    return device->failure(code, "cuLaunchKernel", what);
  return {};
}

} // namespace nncc::rt::cuda
