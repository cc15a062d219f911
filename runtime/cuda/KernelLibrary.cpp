// What the libraries have in common; see KernelLibrary.h.

#include "runtime/cuda/KernelLibrary.h"

#include <cstring>

namespace nncc::rt::cuda {

bool BoundCall::isEmpty() const {
  if (const auto *product = std::get_if<MatrixProduct<int64_t>>(&operation))
    return product->products == 0 || product->rows == 0 || product->columns == 0;
  const auto &convolution = std::get<Convolution<int64_t>>(operation);
  return convolution.batch == 0 || convolution.outHeight == 0 || convolution.outWidth == 0;
}

const char *nameOf(LibraryKind kind) { return kind == LibraryKind::Cudnn ? "cudnn" : "cublasLt"; }

Result<std::shared_ptr<const KernelLibrary>> KernelLibrary::get(LibraryKind kind) {
  return kind == LibraryKind::Cudnn ? loadCudnn() : loadCublasLt();
}

/// From the panels of our kernels to rows of one output channel each; both in elements of `size`
/// bytes.
static void unpackFilter(const Convolution<int64_t> &shape, size_t size, const std::byte *packed,
                         std::byte *filter) {
  int64_t taps = shape.kernelHeight * shape.kernelWidth,
          groupChannels = shape.channels / shape.groups,
          groupOutputs = shape.outputs / shape.groups;
  for (int64_t group = 0; group < shape.groups; ++group)
    for (int64_t output = 0; output < groupOutputs; ++output)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t channel = 0; channel < groupChannels; ++channel, filter += size)
          std::memcpy(filter,
                      packed + size * static_cast<size_t>(
                                        shape.wOffset + group * shape.wGroup + output * shape.wOutput +
                                        tap * shape.wTap + channel * shape.wChannel),
                      size);
}

Result<CUdeviceptr> FilterStore::find(const BoundCall &call, CUstream stream) {
  const auto &shape = std::get<Convolution<int64_t>>(call.operation);
  Key key{call.weight, {}};
  Convolution<int64_t>::forEach([&](const char *, int64_t number) { key.second.push_back(number); },
                                shape);
  // The same filter serves every size of image.
  key.second.erase(key.second.begin());
  std::scoped_lock lock(mutex);
  if (auto known = filters.find(key); known != filters.end())
    return known->second.address();

  int64_t size = sizeBytesOf(call.dtype), taps = shape.kernelHeight * shape.kernelWidth,
          groupChannels = shape.channels / shape.groups,
          groupOutputs = shape.outputs / shape.groups;
  int64_t packedElements = shape.wOffset + (shape.groups - 1) * shape.wGroup +
                           (groupOutputs - 1) * shape.wOutput + (taps - 1) * shape.wTap +
                           (groupChannels - 1) * shape.wChannel + 1;
  std::vector<std::byte> packed(static_cast<size_t>(packedElements * size));
  std::vector<std::byte> filter(static_cast<size_t>(shape.outputs * taps * groupChannels * size));
  auto block = DeviceBlock::allocate(device, static_cast<int64_t>(filter.size()),
                                     "a weight in cuDNN's layout");
  if (!block)
    return block.error();
  const Driver &driver = device->driver();
  const char *attempt = "cannot bring a weight into cuDNN's layout";
  CUresult code = driver.cuMemcpyDtoHAsync_v2(packed.data(), call.weight, packed.size(), stream);
  const char *name = "cuMemcpyDtoHAsync";
  // Also after a failure: what was begun writes memory that goes now.
  CUresult waited = driver.cuStreamSynchronize(stream);
  if (!code && !waited) {
    unpackFilter(shape, static_cast<size_t>(size), packed.data(), filter.data());
    code = driver.cuMemcpyHtoDAsync_v2(block->address(), filter.data(), filter.size(), stream);
    name = "cuMemcpyHtoDAsync";
    waited = driver.cuStreamSynchronize(stream);
  }
  if (code)
    return device->failure(code, name, attempt);
  if (waited)
    return device->failure(waited, "cuStreamSynchronize", attempt);
  return filters.emplace(std::move(key), std::move(*block)).first->second.address();
}

} // namespace nncc::rt::cuda
