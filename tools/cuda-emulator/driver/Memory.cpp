// Memory calls: allocation, host memory, copies, fills, questions about pointers. Copies in a stream are
// operations like kernels; a range that the device does not have is refused when the call is made.
#include "tools/cuda-emulator/driver/State.h"

#include <cstring>

namespace nncc::cuemu::calls {
namespace {

DeviceMemory *currentMemory() {
  Context *context = currentContext();
  return context ? context->device->memory.get() : nullptr;
}

template <typename T> T *at(CUdeviceptr address) { return reinterpret_cast<T *>(address); }

CUresult allocate(CUdeviceptr *address, size_t bytes) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!address || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  *address = memory->allocate(bytes, MemoryKind::Device);
  return *address != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult release(CUdeviceptr address, MemoryKind kind) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (address == 0)
    return CUDA_SUCCESS;
  Allocation *allocation = memory->find(address);
  if (!allocation || allocation->base != address || allocation->kind != kind)
    return CUDA_ERROR_INVALID_VALUE;
  memory->release(address);
  return CUDA_SUCCESS;
}

/// A copy in a stream; `toDevice` and `fromDevice` say which ends must be the device's.
CUresult copy(CUdeviceptr to, bool toDevice, CUdeviceptr from, bool fromDevice, size_t bytes, CUstream stream) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (to == 0 || from == 0 || (toDevice && !memory->covers(to, bytes)) || (fromDevice && !memory->covers(from, bytes)))
    return CUDA_ERROR_INVALID_VALUE;
  Operation operation;
  operation.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  operation.run = [=] {
    // The memory may have been freed since a graph recorded the copy.
    if ((toDevice && !memory->covers(to, bytes)) || (fromDevice && !memory->covers(from, bytes)))
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memmove(at<void>(to), at<const void>(from), bytes);
    memory->markInitialised(to, bytes);
    return CUDA_SUCCESS;
  };
  return submit(stream, std::move(operation));
}

CUresult copyAny(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  return copy(to, memory->find(to) != nullptr, from, memory->find(from) != nullptr, bytes, stream);
}

template <typename T> CUresult fill(CUdeviceptr to, T value, size_t count, CUstream stream) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (count == 0)
    return CUDA_SUCCESS;
  if (count > (size_t{1} << 46) || to % sizeof(T) != 0 || !memory->covers(to, count * sizeof(T)))
    return CUDA_ERROR_INVALID_VALUE;
  Operation operation;
  operation.type = CU_GRAPH_NODE_TYPE_MEMSET;
  operation.run = [=] {
    if (!memory->covers(to, count * sizeof(T)))
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::fill_n(at<T>(to), count, value);
    memory->markInitialised(to, count * sizeof(T));
    return CUDA_SUCCESS;
  };
  return submit(stream, std::move(operation));
}

CUdeviceptr number(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }

} // namespace

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  return isGlobalCaptureActive() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : allocate(address, bytes);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return isGlobalCaptureActive() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : release(address, MemoryKind::Device);
}

// Allocation in a capture would make memory nodes, which the emulator does not have.
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  Stream *found = findStream(stream);
  if (!found)
    return CUDA_ERROR_INVALID_HANDLE;
  return found->capture ? refuseWhileCapturing(*found) : allocate(address, bytes);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  Stream *found = findStream(stream);
  if (!found)
    return CUDA_ERROR_INVALID_HANDLE;
  return found->capture ? refuseWhileCapturing(*found) : release(address, MemoryKind::Device);
}

CUresult cuMemAllocHost_v2(void **host, size_t bytes) { return cuMemHostAlloc(host, bytes, 0); }

CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!host || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t address = memory->allocate(bytes, MemoryKind::PinnedHost);
  if (address == 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // The host writes it unseen.
  memory->markInitialised(address, bytes);
  *host = at<void>(address);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *host) { return release(number(host), MemoryKind::PinnedHost); }

CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!host || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (memory->find(number(host)))
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  memory->adopt(host, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *host) {
  CUresult result = release(number(host), MemoryKind::RegisteredHost);
  return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : result;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned flags) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!address || flags != 0 || !memory->find(number(host)))
    return CUDA_ERROR_INVALID_VALUE;
  *address = number(host);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (free)
    *free = memory->sizeBytes() - memory->usedBytes();
  if (total)
    *total = memory->sizeBytes();
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
  DeviceMemory *memory = currentMemory();
  if (!memory)
    return CUDA_ERROR_INVALID_CONTEXT;
  Allocation *allocation = memory->find(address);
  if (!allocation)
    return CUDA_ERROR_NOT_FOUND;
  if (base)
    *base = allocation->base;
  if (bytes)
    *bytes = allocation->sizeBytes;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (!data)
    return CUDA_ERROR_INVALID_VALUE;
  Allocation *allocation = nullptr;
  Device *owner = nullptr;
  for (auto &device : state().devices)
    if (!allocation && (allocation = device->memory->find(address)))
      owner = device.get();
  if (!allocation)
    return CUDA_ERROR_INVALID_VALUE;
  bool isHost = allocation->kind == MemoryKind::PinnedHost || allocation->kind == MemoryKind::RegisteredHost;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: {
    CUcontext context = owner->primary;
    std::memcpy(data, &context, sizeof(context));
    return CUDA_SUCCESS;
  }
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: {
    unsigned type = isHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    std::memcpy(data, &type, sizeof(type));
    return CUDA_SUCCESS;
  }
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (!isHost)
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(data, &address, sizeof(address));
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    std::memcpy(data, &address, sizeof(address));
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: {
    unsigned no = 0;
    std::memcpy(data, &no, sizeof(no));
    return CUDA_SUCCESS;
  }
  case CU_POINTER_ATTRIBUTE_MAPPED: {
    unsigned yes = 1;
    std::memcpy(data, &yes, sizeof(yes));
    return CUDA_SUCCESS;
  }
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    std::memcpy(data, &owner->ordinal, sizeof(int));
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    std::memcpy(data, &allocation->base, sizeof(uint64_t));
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    std::memcpy(data, &allocation->sizeBytes, sizeof(uint64_t));
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Unlike the single call, this one gives nulls for a pointer that the device does not know.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address) {
  if (count == 0 || !attributes || !data)
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; i++)
    if (cuPointerGetAttribute(data[i], attributes[i], address) != CUDA_SUCCESS) {
      bool isWord = attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE || attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
                    attributes[i] == CU_POINTER_ATTRIBUTE_MAPPED || attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
      std::memset(data[i], attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? 0xfe : 0, isWord ? 4 : 8);
    }
  return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return copyAny(to, from, bytes, nullptr); }

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyAny(to, from, bytes, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copy(to, true, number(from), false, bytes, nullptr);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copy(number(to), false, from, true, bytes, nullptr);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(to, true, from, true, bytes, nullptr);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return copy(to, true, number(from), false, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(number(to), false, from, true, bytes, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(to, true, from, true, bytes, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) { return fill(to, value, count, nullptr); }

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) { return fill(to, value, count, nullptr); }

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill(to, value, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill(to, value, count, stream);
}

} // namespace nncc::cuemu::calls
