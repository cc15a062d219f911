// Compiling and loading of kernels; see KernelLoader.h.

#include "runtime/cuda/KernelLoader.h"

#include "runtime/cuda/KernelCache.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <unordered_map>

namespace nncc::rt::cuda {

Result<CompiledKernels> compileKernels(const Nvrtc &nvrtc, const std::string &header,
                                       std::span<const KernelSource> sources,
                                       const std::string &architecture, int threads) {
  std::optional<KernelCache> cache = KernelCache::ofUser();
  std::vector<Result<CachedImage>> compiled(sources.size(), Result<CachedImage>(CachedImage()));
  // Threads take the next kernel until there is none.
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < sources.size();)
      compiled[i] = compileCached(nvrtc, cache ? &*cache : nullptr, header + sources[i].text,
                                  sources[i].symbol, architecture);
  };
  std::vector<std::thread> others;
  size_t threadCount = threads > 0 ? threads : usableCoreCount();
  for (size_t i = 1; i < std::min(threadCount, sources.size()); ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error &) { // no more threads; those at work do it all
      break;
    }
  }
  work();
  for (std::thread &thread : others)
    thread.join();

  CompiledKernels result;
  for (Result<CachedImage> &one : compiled) {
    if (!one)
      return one.error();
    result.images.push_back(std::move(one->image));
    result.fromCache += one->isFromCache;
    if (result.warning.empty())
      result.warning = std::move(one->warning);
  }
  return result;
}

KernelTable::~KernelTable() { unload(); }

void KernelTable::unload() {
  if (!modules.empty())
    if (auto scope = device->enter())
      for (CUmodule module : modules)
        device->driver().cuModuleUnload(module);
  modules.clear();
  functions.clear();
}

CUresult KernelTable::loadModule(const void *image, std::string &log, CUmodule &module) const {
  log.assign(4096, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUresult code =
      device->driver().cuModuleLoadDataEx(&module, image, std::size(options), options, values);
  log.resize(std::min(log.find('\0'), log.size()));
  return code;
}

Result<void> KernelTable::addFunction(const Program &program, CUmodule module) {
  modules.push_back(module);
  const std::string &symbol = program.kernels[functions.size()].symbol;
  CUfunction function = nullptr;
  if (CUresult code = device->driver().cuModuleGetFunction(&function, module, symbol.c_str()))
    return device->failure(code, "cuModuleGetFunction", "cannot find the kernel '" + symbol + "'");
  functions.push_back(function);
  return {};
}

/// Whether the code for an image's architecture was refused because this device or this driver
/// takes other code.
static bool isUnsuitable(CUresult code) {
  return code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_INVALID_IMAGE;
}

/// Which of the model's architectures the device runs: machine code runs on its major version, from
/// its minor version on; code for "sm_90a" on that very capability.
static std::optional<uint64_t> findArchitecture(const ModelCuda &model, int capability) {
  std::optional<uint64_t> best;
  int bestNumber = -1;
  for (uint64_t i = 0; i < model.architectureCount; ++i) {
    std::string name = model.architectures[i];
    bool isExact = !name.empty() && std::isalpha(static_cast<unsigned char>(name.back()));
    int number = architectureNumber(name);
    bool fits =
        isExact ? number == capability : number / 10 == capability / 10 && number <= capability;
    if (fits && number >= bestNumber) {
      best = i;
      bestNumber = number;
    }
  }
  return best;
}

/// False when the model has no images that this device takes; then none is loaded.
Result<bool> KernelTable::addImages(const Program &program, const ModelCuda &model) {
  std::optional<uint64_t> architecture = findArchitecture(model, device->capability());
  if (!architecture)
    return false;
  for (uint64_t i = 0; i < model.kernelCount; ++i) {
    std::string log;
    CUmodule module = nullptr;
    CUresult code = loadModule(model.kernels[i].images[*architecture].bytes, log, module);
    if (isUnsuitable(code)) {
      unload();
      return false;
    }
    if (code)
      return device->failure(code, "cuModuleLoadDataEx",
                             "cannot load the kernel '" + program.kernels[i].symbol +
                                 "', compiled ahead of time for " +
                                 model.architectures[*architecture]);
    if (auto added = addFunction(program, module); !added)
      return added.error();
  }
  return true;
}

/// "NVRTC 13.0 (...) is newer than the driver, which is for CUDA 12.4. Update ..."
static std::string describeMismatch(const Device &device, const Nvrtc &nvrtc) {
  std::string version = versionText(device.driver().version);
  return "NVRTC " + nvrtc.describe() + " is newer than the driver, which is for CUDA " + version +
         ". Update NVIDIA's driver, or set NNCC_NVRTC to an NVRTC of CUDA " + version;
}

/// The error of a kernel that NVRTC compiled and the driver does not take.
static Error loadFailure(const Device &device, const Nvrtc &nvrtc, CUresult code,
                         const std::string &symbol, const std::string &log) {
  Error error =
      device.failure(code, "cuModuleLoadDataEx", "cannot load the kernel '" + symbol + "'");
  if (code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    error.message += ". " + describeMismatch(device, nvrtc);
  if (!log.empty())
    error.message += "\n" + log;
  return error;
}

Result<void> KernelTable::compile(const Program &program, const ModelCuda &model, int threads,
                                  const LogSink &log) {
  auto nvrtc = Nvrtc::get();
  if (!nvrtc) {
    std::string missing = "the model has no machine code for this device (sm_" +
                          std::to_string(device->capability()) + "), ";
    if (model.architectureCount == 0)
      missing = "";
    return environmentError(missing + "the kernels have to be compiled: " + nvrtc.error().message +
                            ", or compile the model with nncc --arch=sm_" +
                            std::to_string(device->capability()));
  }
  auto start = std::chrono::steady_clock::now();
  std::vector<KernelSource> sources;
  for (uint64_t i = 0; i < model.kernelCount; ++i)
    sources.push_back({model.kernels[i].symbol, model.kernels[i].source});
  // Within a major version drivers take the code of newer compilers.
  if ((*nvrtc)->major() > device->driver().version / 1000)
    return environmentError(describeMismatch(*device, **nvrtc));
  int architecture = (*nvrtc)->bestArchitecture(device->capability());
  if (architecture < 0)
    return environmentError("NVRTC " + (*nvrtc)->describe() + " does not compile for CUDA device " +
                            std::to_string(device->ordinal()) + ", which is an sm_" +
                            std::to_string(device->capability()) +
                            ". Set NNCC_NVRTC to an older NVRTC, or use the CPU (--device=cpu)");
  int cached = 0;
  bool isWarned = false;
  auto run = [&](const std::string &prefix,
                 std::span<const KernelSource> part) -> Result<CompiledKernels> {
    auto compiled =
        compileKernels(**nvrtc, model.header, part, prefix + std::to_string(architecture), threads);
    if (!compiled)
      return compiled.error();
    cached += compiled->fromCache;
    if (!compiled->warning.empty() && !std::exchange(isWarned, true))
      log("warning: " + compiled->warning + "; the kernels are compiled again at the next start");
    return compiled;
  };
  // Machine code runs as it is; PTX is for devices that NVRTC does not know yet, and for drivers
  // that take nothing else. The first kernel tells.
  std::string prefix = architecture == device->capability() ? "sm_" : "compute_";
  if (prefix == "sm_" && !sources.empty()) {
    auto first = run(prefix, std::span(sources).first(1));
    if (!first)
      return first.error();
    std::string text;
    CUmodule module = nullptr;
    CUresult code = loadModule(first->images[0].c_str(), text, module);
    if (isUnsuitable(code))
      prefix = "compute_";
    else if (code)
      return loadFailure(*device, **nvrtc, code, sources[0].symbol, text);
    else if (auto added = addFunction(program, module); !added)
      return added;
  }
  std::span<const KernelSource> rest = std::span(sources).subspan(functions.size());
  auto compiled = run(prefix, rest);
  if (!compiled)
    return compiled.error();
  for (size_t i = 0; i < rest.size(); ++i) {
    std::string text;
    CUmodule module = nullptr;
    if (CUresult code = loadModule(compiled->images[i].c_str(), text, module))
      return loadFailure(*device, **nvrtc, code, rest[i].symbol, text);
    if (auto added = addFunction(program, module); !added)
      return added;
  }
  auto took = std::chrono::steady_clock::now() - start;
  log("model '" + program.modelName + "': " + std::to_string(sources.size()) + " kernels for " +
      prefix + std::to_string(architecture) + " by NVRTC " + (*nvrtc)->describe() + " in " +
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) +
      " ms, " + std::to_string(cached) + " of them from the cache");
  return {};
}

Result<KernelTable> KernelTable::load(std::shared_ptr<const Device> device, const Program &program,
                                      const ModelCuda &model, int threads, const LogSink &log) {
  bool isComplete = model.kernelCount == program.kernels.size();
  for (uint64_t i = 0; isComplete && i < model.kernelCount; ++i)
    isComplete = program.kernels[i].symbol == model.kernels[i].symbol && program.kernels[i].cuda;
  if (!isComplete)
    return internalError("model '" + program.modelName +
                         "' has other CUDA kernels than its program names");
  KernelTable table;
  table.device = device;
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  auto isLoaded = table.addImages(program, model);
  if (!isLoaded)
    return isLoaded.error();
  if (!*isLoaded)
    if (auto compiled = table.compile(program, model, threads, log); !compiled)
      return compiled.error();
  return table;
}

} // namespace nncc::rt::cuda
