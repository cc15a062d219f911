// Allocation on a device; see DeviceMemory.h. What is given back after an error that broke the
// context went with it, so destructors ask for nothing then.

#include "runtime/cuda/DeviceMemory.h"

namespace nncc::rt::cuda {

Result<DeviceBlock> DeviceBlock::allocate(std::shared_ptr<const Device> device, int64_t sizeBytes,
                                          const std::string &role) {
  DeviceBlock block;
  if (sizeBytes == 0)
    return block;
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  const Driver &cuda = device->driver();
  if (CUresult code = cuda.cuMemAlloc_v2(&block.start, static_cast<size_t>(sizeBytes))) {
    block.start = 0;
    Error error = device->failure(code, "cuMemAlloc",
                                  "cannot allocate " + std::to_string(sizeBytes) +
                                      " bytes of device memory for " + role);
    size_t freeBytes = 0, totalBytes = 0;
    if (code == CUDA_ERROR_OUT_OF_MEMORY && cuda.cuMemGetInfo_v2(&freeBytes, &totalBytes) == 0)
      error.message += "; " + std::to_string(freeBytes) + " of device " +
                       std::to_string(device->ordinal()) + "'s " + std::to_string(totalBytes) +
                       " bytes are free. Use a smaller batch, or another device";
    return error;
  }
  block.device = std::move(device);
  block.size = sizeBytes;
  return block;
}

DeviceBlock::~DeviceBlock() {
  if (!start)
    return;
  if (auto scope = device->enter())
    device->driver().cuMemFree_v2(start);
}

Result<PinnedBlock> PinnedBlock::allocate(std::shared_ptr<const Device> device, int64_t sizeBytes) {
  PinnedBlock block;
  if (sizeBytes == 0)
    return block;
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  if (CUresult code = device->driver().cuMemHostAlloc(&block.data, static_cast<size_t>(sizeBytes),
                                                      /*flags=*/0)) {
    block.data = nullptr;
    return device->failure(code, "cuMemHostAlloc",
                           "cannot allocate " + std::to_string(sizeBytes) +
                               " bytes of page-locked host memory");
  }
  block.device = std::move(device);
  block.size = sizeBytes;
  return block;
}

PinnedBlock::~PinnedBlock() {
  if (!data)
    return;
  if (auto scope = device->enter())
    device->driver().cuMemFreeHost(data);
}

Result<Stream> Stream::create(std::shared_ptr<const Device> device) {
  Stream made;
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  if (CUresult code = device->driver().cuStreamCreate(&made.stream, CU_STREAM_NON_BLOCKING)) {
    made.stream = nullptr;
    return device->failure(code, "cuStreamCreate", "cannot create a stream");
  }
  made.device = std::move(device);
  return made;
}

Stream::~Stream() {
  if (!stream)
    return;
  if (auto scope = device->enter())
    device->driver().cuStreamDestroy_v2(stream);
}

} // namespace nncc::rt::cuda
