// Opening of devices, and what happens after a failure; see Device.h.

#include "runtime/cuda/Device.h"

namespace nncc::rt::cuda {

/// Errors after which every call in the context fails: the device stopped a kernel, or is gone.
static bool isSticky(CUresult code) {
  switch (code) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
    return true;
  default:
    return false;
  }
}

Result<std::shared_ptr<const Device>> Device::open(int ordinal) {
  auto driver = Driver::get();
  if (!driver)
    return driver.error();
  const Driver &cuda = **driver;
  int count = 0;
  if (CUresult code = cuda.cuDeviceGetCount(&count))
    return cuda.failure(code, "cuDeviceGetCount", "cannot count the devices");
  if (ordinal < 0 || ordinal >= count)
    return environmentError("there is no CUDA device " + std::to_string(ordinal) +
                            "; this machine has " + std::to_string(count) +
                            (count == 1 ? " (cuda:0)" : "") +
                            ". nncc-run --list-devices shows them");
  std::shared_ptr<Device> device(new Device);
  device->functions = std::move(*driver);
  device->number = ordinal;
  std::string what = "cannot open CUDA device " + std::to_string(ordinal);
  if (CUresult code = cuda.cuDeviceGet(&device->handle, ordinal))
    return cuda.failure(code, "cuDeviceGet", what);
  int major = 0, minor = 0;
  for (auto [value, attribute] : {std::pair(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                  std::pair(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)})
    if (CUresult code = cuda.cuDeviceGetAttribute(value, attribute, device->handle))
      return cuda.failure(code, "cuDeviceGetAttribute", what);
  device->capabilityNumber = major * 10 + minor;
  if (CUresult code = cuda.cuDevicePrimaryCtxRetain(&device->context, device->handle)) {
    device->context = nullptr;
    return cuda.failure(code, "cuDevicePrimaryCtxRetain", what);
  }
  return std::shared_ptr<const Device>(std::move(device));
}

Result<std::string> Device::name() const {
  char text[256] = "";
  if (CUresult code = functions->cuDeviceGetName(text, sizeof text, handle))
    return functions->failure(code, "cuDeviceGetName",
                              "cannot describe CUDA device " + std::to_string(number));
  return std::string(text);
}

Device::~Device() {
  if (context)
    functions->cuDevicePrimaryCtxRelease_v2(handle);
}

Device::Scope::~Scope() {
  CUcontext old = nullptr;
  if (device)
    device->functions->cuCtxPopCurrent_v2(&old);
}

Result<Device::Scope> Device::enter() const {
  {
    std::scoped_lock lock(mutex);
    if (!firstFailure.empty())
      return environmentError(firstFailure);
  }
  if (CUresult code = functions->cuCtxPushCurrent_v2(context))
    return failure(code, "cuCtxPushCurrent",
                   "cannot enter the context of device " + std::to_string(number));
  return Scope(this);
}

Error Device::failure(CUresult code, const char *call, const std::string &what) const {
  Error error = functions->failure(code, call, what);
  if (!isSticky(code))
    return error;
  std::scoped_lock lock(mutex);
  if (firstFailure.empty())
    firstFailure = error.message + ". CUDA device " + std::to_string(number) +
                   " accepts nothing more from this process; start a new one. NNCC_CUDA_SYNC=1 "
                   "waits for each kernel, so that the error names the right one";
  return environmentError(firstFailure);
}

Result<std::vector<DeviceDescription>> listDevices(const Driver &cuda) {
  int count = 0;
  if (CUresult code = cuda.cuDeviceGetCount(&count))
    return cuda.failure(code, "cuDeviceGetCount", "cannot count the devices");
  std::vector<DeviceDescription> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    std::string what = "cannot describe CUDA device " + std::to_string(ordinal);
    DeviceDescription &description = devices.emplace_back();
    description.ordinal = ordinal;
    CUdevice device = 0;
    if (CUresult code = cuda.cuDeviceGet(&device, ordinal))
      return cuda.failure(code, "cuDeviceGet", what);
    char name[256] = "";
    if (CUresult code = cuda.cuDeviceGetName(name, sizeof name, device))
      return cuda.failure(code, "cuDeviceGetName", what);
    description.name = name;
    if (CUresult code = cuda.cuDeviceTotalMem_v2(&description.memoryBytes, device))
      return cuda.failure(code, "cuDeviceTotalMem", what);
    int major = 0, minor = 0, kHz = 0, memoryKHz = 0, busBits = 0;
    using Attribute = std::pair<int *, CUdevice_attribute>;
    for (auto [value, attribute] :
         {Attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
          Attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
          Attribute(&description.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
          Attribute(&kHz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
          Attribute(&memoryKHz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
          Attribute(&busBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)})
      if (CUresult code = cuda.cuDeviceGetAttribute(value, attribute, device))
        return cuda.failure(code, "cuDeviceGetAttribute", what);
    description.capability = major * 10 + minor;
    // Memory moves a word at either edge of its clock.
    description.peaks = peaksOf(description.capability, description.multiprocessors, kHz * 1e3,
                                2 * (memoryKHz * 1e3) * (busBits / 8.0));
  }
  return devices;
}

} // namespace nncc::rt::cuda
