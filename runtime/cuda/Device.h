// One CUDA device as this process uses it: the primary context, which is made current for the
// length of a call only, and the memory of the first error that broke the context. Everything that
// the runtime keeps on a device holds a pointer to its Device.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/GpuModel.h"

#include <mutex>
#include <utility>
#include <vector>

namespace nncc::rt::cuda {

class Device {
public:
  /// An environment error without a driver, a user error without such a device.
  static Result<std::shared_ptr<const Device>> open(int ordinal);
  ~Device();
  Device(const Device &) = delete;

  const Driver &driver() const { return *functions; }
  int ordinal() const { return number; }
  /// 80 for compute capability 8.0.
  int capability() const { return capabilityNumber; }
  /// "NVIDIA H200"
  Result<std::string> name() const;

  /// Makes the context current until the end of the scope and then the caller's again.
  class Scope {
  public:
    Scope(Scope &&other) noexcept : device(std::exchange(other.device, nullptr)) {}
    Scope &operator=(Scope &&) = delete;
    ~Scope();

  private:
    friend class Device;
    explicit Scope(const Device *device) : device(device) {}
    const Device *device;
  };
  /// The error that ended the session, when one did.
  Result<Scope> enter() const;

  /// The error of a call that failed; remembers it when nothing works after it.
  Error failure(CUresult code, const char *call, const std::string &what) const;

private:
  Device() = default;

  std::shared_ptr<const Driver> functions;
  CUdevice handle = 0;
  CUcontext context = nullptr;
  int number = 0, capabilityNumber = 0;
  mutable std::mutex mutex;
  mutable std::string firstFailure; ///< empty as long as the context works
};

/// What `nncc-run --list-devices` says of one device.
struct DeviceDescription {
  int ordinal = 0;
  std::string name;
  int capability = 0; ///< 80 for 8.0
  size_t memoryBytes = 0;
  int multiprocessors = 0;
  DevicePeaks peaks; ///< 0 where the driver does not tell the clocks
};

/// All devices of the driver.
Result<std::vector<DeviceDescription>> listDevices(const Driver &driver);

} // namespace nncc::rt::cuda
