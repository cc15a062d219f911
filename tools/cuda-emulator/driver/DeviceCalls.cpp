// cuInit, versions, names of errors, and the calls that ask about devices.
#include "tools/cuda-emulator/driver/Report.h"
#include "tools/cuda-emulator/driver/State.h"

#include <cstring>

namespace nncc::cuemu::calls {
namespace {

bool isDevice(CUdevice device) { return device >= 0 && static_cast<size_t>(device) < state().devices.size(); }

} // namespace

CUresult cuInit(unsigned flags) {
  State &process = state();
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (process.isInitialised)
    return process.devices.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
  std::string error;
  process.settings = readSettings(error);
  if (!error.empty()) {
    report(error);
    return CUDA_ERROR_INVALID_VALUE;
  }
  process.isInitialised = true;
  for (int i = 0; i < process.settings.deviceCount; i++) {
    auto device = std::make_unique<Device>();
    device->ordinal = i;
    device->memory = std::make_unique<DeviceMemory>(process.settings.memoryBytes, process.settings.isChecked);
    if (process.settings.isChecked)
      device->checker = std::make_unique<Checker>(*device->memory);
    process.devices.push_back(std::move(device));
  }
  return process.devices.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

/// NVIDIA's own libraries ask for tables of functions that no documentation describes. NVRTC does so in every process that has a
/// libcuda.so.1 loaded, and goes on without them when it is told that there are none.
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
  if (!table || !id)
    return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  std::string ignored;
  *version = state().isInitialised ? state().settings.driverVersion : readSettings(ignored).driverVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  switch (error) {
#define X(name, number, description)                                                                                   \
  case name:                                                                                                           \
    *text = #name;                                                                                                     \
    return CUDA_SUCCESS;
    NNCC_CUDA_RESULTS(X)
#undef X
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  switch (error) {
#define X(name, number, description)                                                                                   \
  case name:                                                                                                           \
    *text = description;                                                                                               \
    return CUDA_SUCCESS;
    NNCC_CUDA_RESULTS(X)
#undef X
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  if (!isDevice(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(state().devices.size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  if (!name || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Settings &settings = state().settings;
  std::string text = "CUDA emulator " + std::to_string(settings.capabilityMajor) + "." +
                     std::to_string(settings.capabilityMinor) + (settings.isChecked ? " (checked)" : "");
  size_t count = std::min(text.size(), static_cast<size_t>(length) - 1);
  std::memcpy(name, text.data(), count);
  name[count] = '\0';
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  if (!uuid)
    return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(uuid->bytes, "cuda-emulator  ", 15);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = state().settings.memoryBytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  bool isKnown = false;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  *value = deviceAttribute(state().settings, attribute, isKnown);
  if (isKnown)
    return CUDA_SUCCESS;
  report("cuDeviceGetAttribute: the emulator does not know attribute " + std::to_string(attribute));
  return CUDA_ERROR_INVALID_VALUE;
}

} // namespace nncc::cuemu::calls
