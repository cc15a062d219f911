// What the runtime owns on a device, given back at the end of its life: memory, host memory that
// the device copies from and to by itself, streams.
#pragma once

#include "runtime/cuda/Device.h"

#include <cstddef>

namespace nncc::rt::cuda {

/// Device memory; aligned to 256 bytes by the driver.
class DeviceBlock {
public:
  DeviceBlock() = default;
  /// `role` stands in the error: "the arena".
  static Result<DeviceBlock> allocate(std::shared_ptr<const Device> device, int64_t sizeBytes,
                                      const std::string &role);
  DeviceBlock(DeviceBlock &&other) noexcept { swap(other); }
  DeviceBlock &operator=(DeviceBlock &&other) noexcept {
    DeviceBlock moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~DeviceBlock();

  CUdeviceptr address() const { return start; }
  int64_t sizeBytes() const { return size; }

private:
  void swap(DeviceBlock &other) {
    std::swap(device, other.device);
    std::swap(start, other.start);
    std::swap(size, other.size);
  }
  std::shared_ptr<const Device> device;
  CUdeviceptr start = 0;
  int64_t size = 0;
};

/// Page-locked host memory.
class PinnedBlock {
public:
  PinnedBlock() = default;
  static Result<PinnedBlock> allocate(std::shared_ptr<const Device> device, int64_t sizeBytes);
  PinnedBlock(PinnedBlock &&other) noexcept { swap(other); }
  PinnedBlock &operator=(PinnedBlock &&other) noexcept {
    PinnedBlock moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~PinnedBlock();

  std::byte *bytes() const { return static_cast<std::byte *>(data); }
  int64_t sizeBytes() const { return size; }

private:
  void swap(PinnedBlock &other) {
    std::swap(device, other.device);
    std::swap(data, other.data);
    std::swap(size, other.size);
  }
  std::shared_ptr<const Device> device;
  void *data = nullptr;
  int64_t size = 0;
};

/// A stream that waits for no other.
class Stream {
public:
  Stream() = default;
  static Result<Stream> create(std::shared_ptr<const Device> device);
  Stream(Stream &&other) noexcept { swap(other); }
  Stream &operator=(Stream &&other) noexcept {
    Stream moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Stream();

  CUstream get() const { return stream; }

private:
  void swap(Stream &other) {
    std::swap(device, other.device);
    std::swap(stream, other.stream);
  }
  std::shared_ptr<const Device> device;
  CUstream stream = nullptr;
};

} // namespace nncc::rt::cuda
