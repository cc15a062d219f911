// Modules, functions, launches.
#include "tools/cuda-emulator/driver/Report.h"
#include "tools/cuda-emulator/driver/State.h"

#include "tools/cuda-emulator/exec/Launch.h"
#include "tools/cuda-emulator/ptx/Parser.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace nncc::cuemu {
namespace {

int attribute(CUdevice_attribute which) {
  bool isKnown = false;
  return deviceAttribute(state().settings, which, isKnown);
}

/// The options of cuModuleLoadDataEx that have an effect: the log buffers.
struct LoadLog {
  char *error = nullptr, *info = nullptr;
  size_t errorBytes = 0, infoBytes = 0;
  void **errorFill = nullptr, **infoFill = nullptr;

  LoadLog(unsigned count, const CUjit_option *options, void **values) {
    for (unsigned i = 0; i < count; i++) {
      auto number = reinterpret_cast<uintptr_t>(values[i]);
      switch (options[i]) {
      case CU_JIT_ERROR_LOG_BUFFER:
        error = static_cast<char *>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        errorBytes = number;
        errorFill = &values[i];
        break;
      case CU_JIT_INFO_LOG_BUFFER:
        info = static_cast<char *>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        infoBytes = number;
        infoFill = &values[i];
        break;
      default:
        break;
      }
    }
    write(error, errorBytes, errorFill, "");
    write(info, infoBytes, infoFill, "");
  }

  void fail(const std::string &message) {
    write(error, errorBytes, errorFill, message);
    if (!error)
      report(message);
  }

private:
  // The driver puts the number of bytes that it wrote where the size stood.
  static void write(char *buffer, size_t bytes, void **fill, const std::string &text) {
    size_t count = buffer && bytes > 0 ? std::min(text.size(), bytes - 1) : 0;
    if (buffer && bytes > 0) {
      std::memcpy(buffer, text.data(), count);
      buffer[count] = '\0';
    }
    if (fill)
      *fill = reinterpret_cast<void *>(count > 0 ? count + 1 : 0);
  }
};

/// Whether the device can execute PTX made for `target`: an older or equal capability, or exactly the
/// device's for architecture-specific code (sm_90a).
bool fitsDevice(const std::string &target) {
  const Settings &settings = state().settings;
  int device = 10 * settings.capabilityMajor + settings.capabilityMinor;
  if (target.rfind("sm_", 0) != 0)
    return false;
  char *end = nullptr;
  long wanted = std::strtol(target.c_str() + 3, &end, 10);
  return *end == '\0' ? wanted <= device : wanted == device;
}

/// Gives every global and constant variable of the module memory, with its initial value.
void placeVariables(const ptx::Module &text, Module &module, VariableAddresses &addresses) {
  DeviceMemory &memory = *module.context->device->memory;
  for (const ptx::Variable &variable : text.variables) {
    if (variable.space == ptx::Space::Shared)
      continue;
    if (variable.isExternal)
      throw ptx::PtxError(variable.line, "external variable '" + variable.name + "' is not defined");
    auto sizeBytes = static_cast<uint64_t>(variable.sizeBytes());
    uint64_t address = memory.allocate(std::max<uint64_t>(sizeBytes, 1), MemoryKind::Module, "variable " + variable.name);
    if (address == 0)
      throw std::bad_alloc();
    module.variables.emplace_back(variable.name, address);
    addresses[variable.name] = address;
  }
  for (const ptx::Variable &variable : text.variables) {
    if (variable.space == ptx::Space::Shared)
      continue;
    auto *bytes = reinterpret_cast<uint8_t *>(addresses.at(variable.name));
    auto elementBytes = static_cast<size_t>(ptx::bitWidth(variable.type) / 8);
    auto sizeBytes = static_cast<size_t>(variable.sizeBytes());
    if (variable.initial.size() * elementBytes > sizeBytes)
      throw ptx::PtxError(variable.line, "variable '" + variable.name + "' has too many initial values");
    for (size_t i = 0; i < variable.initial.size(); i++) {
      int64_t value = variable.initial[i].bits;
      if (const std::string &symbol = variable.initial[i].symbol; !symbol.empty()) {
        auto target = addresses.find(symbol);
        if (target == addresses.end())
          throw ptx::PtxError(variable.line, "'" + symbol + "' is not a variable of this module");
        value += static_cast<int64_t>(target->second);
      }
      std::memcpy(bytes + i * elementBytes, &value, std::min<size_t>(elementBytes, 8));
    }
    // What has no initial value is zero.
    memory.markInitialised(reinterpret_cast<uint64_t>(bytes), sizeBytes);
  }
}

CUresult loadModule(CUmodule *handle, const void *image, LoadLog log) {
  Context *context = currentContext();
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!handle || !image)
    return CUDA_ERROR_INVALID_VALUE;
  auto *bytes = static_cast<const unsigned char *>(image);
  bool isElf = bytes[0] == 0x7f && bytes[1] == 'E';
  bool isFatBinary = bytes[0] == 0x50 && bytes[1] == 0xed;
  if (isElf || isFatBinary) {
    log.fail("the emulator executes PTX only, not machine code of a GPU");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  auto module = std::make_unique<Module>();
  module->context = context;
  auto discard = [&] {
    for (auto &[name, address] : module->variables)
      context->device->memory->release(address);
  };
  try {
    ptx::Module text = ptx::parseModule(static_cast<const char *>(image));
    if (text.versionMajor > 9) {
      log.fail("PTX version " + std::to_string(text.versionMajor) + " is newer than 9, the newest that the emulator knows");
      return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (!fitsDevice(text.target)) {
      log.fail("PTX for " + text.target + " does not run on the emulated device; set CUDA_EMULATOR_CAPABILITY");
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    VariableAddresses addresses;
    placeVariables(text, *module, addresses);
    TranslationOptions options;
    options.checked = state().settings.isChecked;
    options.optimisationLevel = state().settings.optimisationLevel;
    module->code = translateModule(text, addresses, options);
  } catch (const ptx::PtxError &error) {
    discard();
    log.fail("ptx:" + std::to_string(error.line) + ": error: " + error.what());
    return CUDA_ERROR_INVALID_PTX;
  } catch (const std::bad_alloc &) {
    discard();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  for (const Kernel &kernel : module->code->kernels) {
    auto function = std::make_unique<Function>();
    function->module = module.get();
    function->kernel = &kernel;
    function->maxDynamicSharedBytes =
        std::max(0, (48 << 10) - static_cast<int>(kernel.staticSharedBytes));
    state().functions[reinterpret_cast<CUfunction>(function.get())] = function.get();
    module->functions.push_back(std::move(function));
  }
  *handle = state().modules.add(std::move(module));
  return CUDA_SUCCESS;
}

Function *findFunction(CUfunction handle) {
  auto entry = state().functions.find(handle);
  return entry == state().functions.end() ? nullptr : entry->second;
}

/// Registers are not allocated here; this is what a kernel may use at most, for occupancy.
int registersOf(const Kernel &kernel) { return kernel.maxRegisters > 0 ? kernel.maxRegisters : 32; }

int maxThreadsOf(const Kernel &kernel) {
  const int *required = kernel.requiredThreads;
  if (required[0] > 0)
    return required[0] * required[1] * required[2];
  return kernel.maxThreads > 0 ? std::min(kernel.maxThreads, 1024) : 1024;
}

} // namespace

CUresult checkLaunch(const KernelLaunch &launch) {
  const Function &function = *launch.function;
  const Kernel &kernel = *function.kernel;
  uint64_t threads = 1;
  const CUdevice_attribute blockLimits[] = {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                            CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
  const CUdevice_attribute gridLimits[] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                           CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
  for (int i = 0; i < 3; i++) {
    if (launch.grid[i] == 0 || launch.block[i] == 0 ||
        launch.grid[i] > static_cast<unsigned>(attribute(gridLimits[i])) ||
        launch.block[i] > static_cast<unsigned>(attribute(blockLimits[i])))
      return CUDA_ERROR_INVALID_VALUE;
    threads *= launch.block[i];
    if (kernel.requiredThreads[0] > 0 && launch.block[i] != static_cast<unsigned>(kernel.requiredThreads[i]))
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (threads > static_cast<uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)) ||
      threads > static_cast<uint64_t>(maxThreadsOf(kernel)))
    return CUDA_ERROR_INVALID_VALUE;
  if (launch.dynamicSharedBytes > static_cast<unsigned>(function.maxDynamicSharedBytes))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult gatherParameters(const Function &function, void **parameters, void **extra, std::vector<uint8_t> &buffer) {
  const Kernel &kernel = *function.kernel;
  buffer.assign(static_cast<size_t>(kernel.parameterBytes) + 16, 0);
  if (parameters && extra)
    return CUDA_ERROR_INVALID_VALUE;
  if (extra) {
    const void *data = nullptr;
    size_t sizeBytes = 0;
    for (void **entry = extra; *entry != launchParamEnd(); entry += 2) {
      if (*entry == launchParamBufferPointer())
        data = entry[1];
      else if (*entry == launchParamBufferSize())
        sizeBytes = *static_cast<size_t *>(entry[1]);
      else
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!data || sizeBytes > buffer.size())
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(buffer.data(), data, sizeBytes);
    return CUDA_SUCCESS;
  }
  if (!parameters)
    return kernel.parameters.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < kernel.parameters.size(); i++) {
    if (!parameters[i])
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(buffer.data() + kernel.parameters[i].offsetBytes, parameters[i],
                static_cast<size_t>(kernel.parameters[i].sizeBytes));
  }
  return CUDA_SUCCESS;
}

// A launch itself succeeds; what goes wrong in the kernel is found by the calls after it.
CUresult runKernel(Context &context, const KernelLaunch &kernel) {
  const Settings &settings = state().settings;
  Launch launch;
  launch.module = kernel.function->module->code.get();
  launch.kernel = kernel.function->kernel;
  std::copy(kernel.grid, kernel.grid + 3, launch.grid);
  std::copy(kernel.block, kernel.block + 3, launch.block);
  launch.dynamicSharedBytes = kernel.dynamicSharedBytes;
  launch.parameters = kernel.parameters.data();
  launch.gridId = ++state().launches;
  launch.multiprocessorCount = static_cast<uint32_t>(settings.multiprocessorCount);
  launch.checker = context.device->checker.get();
  launch.seed = settings.seed;
  launch.timeLimitSeconds = settings.timeLimitSeconds;
  launch.workers = settings.workers > 0 ? settings.workers : std::max(1u, std::thread::hardware_concurrency());
  runLaunch(launch);
  if (launch.hasFailed()) {
    context.stickyError = launch.result();
    const char *name = nullptr;
    calls::cuGetErrorName(launch.result(), &name);
    report(std::string(name ? name : "error") + ": " + launch.message());
  }
  return CUDA_SUCCESS;
}

namespace calls {

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return loadModule(module, image, LoadLog(0, nullptr, nullptr));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned optionCount, CUjit_option *options,
                            void **values) {
  if (optionCount > 0 && (!options || !values))
    return CUDA_ERROR_INVALID_VALUE;
  return loadModule(module, image, LoadLog(optionCount, options, values));
}

CUresult cuModuleUnload(CUmodule handle) {
  Module *module = state().modules.find(handle);
  if (!module)
    return CUDA_ERROR_INVALID_HANDLE;
  for (auto &[name, address] : module->variables)
    module->context->device->memory->release(address);
  for (auto &function : module->functions)
    state().functions.erase(reinterpret_cast<CUfunction>(function.get()));
  state().modules.remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
  Module *module = state().modules.find(handle);
  if (!module)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!function || !name)
    return CUDA_ERROR_INVALID_VALUE;
  for (auto &each : module->functions)
    if (each->kernel->name == name) {
      *function = reinterpret_cast<CUfunction>(each.get());
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
  Module *module = state().modules.find(handle);
  if (!module)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  for (auto &[variable, place] : module->variables)
    if (variable == name) {
      if (address)
        *address = place;
      if (bytes)
        *bytes = module->context->device->memory->find(place)->sizeBytes;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction handle) {
  Function *function = findFunction(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  const Settings &settings = state().settings;
  const Kernel &kernel = *function->kernel;
  switch (which) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = maxThreadsOf(kernel);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = static_cast<int>(kernel.staticSharedBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    *value = 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = static_cast<int>(kernel.localBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = registersOf(kernel);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = 10 * settings.capabilityMajor + settings.capabilityMinor;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = function->maxDynamicSharedBytes;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = function->carveout;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value) {
  Function *function = findFunction(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  switch (which) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 || value + function->kernel->staticSharedBytes >
                         attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
      return CUDA_ERROR_INVALID_VALUE;
    function->maxDynamicSharedBytes = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    if (value < -1 || value > 100)
      return CUDA_ERROR_INVALID_VALUE;
    function->carveout = value;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int blockSize,
                                                     size_t dynamicSharedBytes) {
  Function *function = findFunction(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!blocks || blockSize <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Kernel &kernel = *function->kernel;
  if (blockSize > maxThreadsOf(kernel) || dynamicSharedBytes > static_cast<size_t>(function->maxDynamicSharedBytes)) {
    *blocks = 0;
    return CUDA_SUCCESS;
  }
  int threads = (blockSize + 31) / 32 * 32;
  int64_t shared = kernel.staticSharedBytes + static_cast<int64_t>(dynamicSharedBytes) +
                   attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  int byThreads = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / threads;
  int byRegisters = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / (registersOf(kernel) * threads);
  int byShared = shared == 0 ? byThreads
                             : static_cast<int>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared);
  *blocks = std::min({byThreads, byRegisters, byShared, attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)});
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned dynamicSharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  if (!currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  Operation operation;
  operation.type = CU_GRAPH_NODE_TYPE_KERNEL;
  KernelLaunch &launch = operation.kernel;
  launch.function = findFunction(handle);
  if (!launch.function)
    return CUDA_ERROR_INVALID_HANDLE;
  launch.grid[0] = gridX;
  launch.grid[1] = gridY;
  launch.grid[2] = gridZ;
  launch.block[0] = blockX;
  launch.block[1] = blockY;
  launch.block[2] = blockZ;
  launch.dynamicSharedBytes = dynamicSharedBytes;
  if (CUresult result = checkLaunch(launch); result != CUDA_SUCCESS)
    return result;
  if (CUresult result = gatherParameters(*launch.function, parameters, extra, launch.parameters); result != CUDA_SUCCESS)
    return result;
  return submit(stream, std::move(operation));
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *userData) {
  if (!currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!function)
    return CUDA_ERROR_INVALID_VALUE;
  Operation operation;
  operation.type = CU_GRAPH_NODE_TYPE_HOST;
  operation.run = [=] {
    function(userData);
    return CUDA_SUCCESS;
  };
  return submit(stream, std::move(operation));
}

} // namespace calls
} // namespace nncc::cuemu
