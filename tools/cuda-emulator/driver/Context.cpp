// The process's state, and contexts: primary and created ones, and the stack of current contexts that each
// host thread has.
#include "tools/cuda-emulator/driver/State.h"

namespace nncc::cuemu {

State &state() {
  // Never destroyed: programs call the driver from their own static destructors.
  static auto *process = new State;
  return *process;
}

std::vector<CUcontext> &contextStack() {
  thread_local std::vector<CUcontext> stack;
  return stack;
}

Context *currentContext() {
  std::vector<CUcontext> &stack = contextStack();
  return stack.empty() ? nullptr : state().contexts.find(stack.back());
}

void destroyContext(CUcontext handle) {
  State &process = state();
  Context *context = process.contexts.find(handle);
  if (!context)
    return;
  auto belongs = [&](const auto &object) { return object.context == context; };
  process.graphExecs.removeIf(belongs);
  process.events.removeIf(belongs);
  process.streams.removeIf(belongs);
  for (auto &[moduleHandle, module] : process.modules)
    if (module->context == context)
      for (auto &function : module->functions)
        process.functions.erase(reinterpret_cast<CUfunction>(function.get()));
  process.modules.removeIf(belongs);
  Device &device = *context->device;
  process.contexts.remove(handle);
  bool isUsed = false;
  for (auto &[other, each] : process.contexts)
    isUsed |= each->device == &device;
  if (isUsed)
    return;
  device.memory = std::make_unique<DeviceMemory>(process.settings.memoryBytes, process.settings.isChecked);
  if (process.settings.isChecked)
    device.checker = std::make_unique<Checker>(*device.memory);
}

namespace {

Device *findDevice(CUdevice ordinal) {
  auto &devices = state().devices;
  return ordinal >= 0 && static_cast<size_t>(ordinal) < devices.size() ? devices[static_cast<size_t>(ordinal)].get()
                                                                      : nullptr;
}

CUcontext newContext(Device &device, unsigned flags) {
  auto context = std::make_unique<Context>();
  context->device = &device;
  context->flags = flags;
  return state().contexts.add(std::move(context));
}

} // namespace

namespace calls {

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice ordinal) {
  Device *device = findDevice(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  if (device->primaryReferences++ == 0)
    device->primary = newContext(*device, device->primaryFlags);
  *context = device->primary;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  Device *device = findDevice(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (device->primaryReferences == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primaryReferences == 0) {
    destroyContext(device->primary);
    device->primary = nullptr;
  }
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  Device *device = findDevice(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  destroyContext(device->primary);
  device->primary = nullptr;
  device->primaryReferences = 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  Device *device = findDevice(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  device->primaryFlags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active) {
  Device *device = findDevice(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!flags || !active)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primaryFlags;
  *active = device->primaryReferences > 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice ordinal) {
  Device *device = findDevice(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  *context = newContext(*device, flags);
  contextStack().push_back(*context);
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  if (!state().contexts.find(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  std::vector<CUcontext> &stack = contextStack();
  if (!stack.empty() && stack.back() == context)
    stack.pop_back();
  destroyContext(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (context && !state().contexts.find(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  std::vector<CUcontext> &stack = contextStack();
  if (!stack.empty())
    stack.pop_back();
  if (context)
    stack.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  *context = currentContext() ? contextStack().back() : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (!state().contexts.find(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  contextStack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  if (!currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (context)
    *context = contextStack().back();
  contextStack().pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  Context *context = currentContext();
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) {
  if (context && !state().contexts.find(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = static_cast<unsigned>(state().settings.driverVersion);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (!currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  if (!currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  return isGlobalCaptureActive() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

} // namespace calls
} // namespace nncc::cuemu
