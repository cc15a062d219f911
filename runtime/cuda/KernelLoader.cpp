// Compiling and loading of kernels; see KernelLoader.h.

#include "runtime/cuda/KernelLoader.h"

#include "runtime/cuda/KernelCache.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
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
  if (modules.empty())
    return;
  if (auto scope = device->enter())
    for (CUmodule &module : modules)
      if (CUmodule old = std::exchange(module, nullptr))
        device->driver().cuModuleUnload(old);
}

CUresult KernelTable::loadModule(size_t kernel, const void *image, std::string &log) {
  log.assign(4096, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUmodule module = nullptr;
  CUresult code =
      device->driver().cuModuleLoadDataEx(&module, image, std::size(options), options, values);
  log.resize(std::min(log.find('\0'), log.size()));
  if (!code)
    modules[kernel] = module;
  return code;
}

Result<void> KernelTable::findFunctions(const Program &program) {
  for (size_t i : needed) {
    const std::string &symbol = program.kernels[i].symbol;
    if (CUresult code =
            device->driver().cuModuleGetFunction(&functions[i], modules[i], symbol.c_str()))
      return device->failure(code, "cuModuleGetFunction",
                             "cannot find the kernel '" + symbol + "'");
  }
  return {};
}

/// Whether the code for an image's architecture was refused because this device or this driver
/// takes other code.
static bool isUnsuitable(CUresult code) {
  return code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_INVALID_IMAGE;
}

std::optional<size_t> chooseArchitecture(std::span<const char *const> architectures,
                                         int capability) {
  std::optional<size_t> best;
  int bestNumber = -1;
  for (size_t i = 0; i < architectures.size(); ++i) {
    std::string_view name = architectures[i];
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
Result<bool> KernelTable::loadImages(const ModelCuda &model) {
  std::optional<size_t> architecture = chooseArchitecture(
      {model.architectures, static_cast<size_t>(model.architectureCount)}, device->capability());
  if (!architecture)
    return false;
  for (size_t i : needed) {
    std::string log;
    CUresult code = loadModule(i, model.kernels[i].images[*architecture].bytes, log);
    if (isUnsuitable(code)) {
      unload();
      return false;
    }
    if (code)
      return device->failure(code, "cuModuleLoadDataEx",
                             "cannot load the kernel '" + std::string(model.kernels[i].symbol) +
                                 "', compiled ahead of time for " +
                                 model.architectures[*architecture]);
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

/// What to do when kernels have to be compiled and NVRTC is missing.
static Error withoutNvrtc(const Device &device, const ModelCuda &model, const Error &reason) {
  std::string images;
  for (uint64_t i = 0; i < model.architectureCount; ++i)
    images += (i ? ", " : "the model's machine code is for ") + std::string(model.architectures[i]);
  return environmentError(images + (images.empty() ? "" : ", which this device does not take. ") +
                          reason.message + ", or compile the model with nncc --arch=sm_" +
                          std::to_string(device.capability()));
}

Result<void> KernelTable::compile(const Program &program, const ModelCuda &model, int threads,
                                  const LogSink &log) {
  auto found = Nvrtc::get();
  if (!found)
    return withoutNvrtc(*device, model, found.error());
  const Nvrtc &nvrtc = **found;
  // Within a major version drivers take the code of newer compilers.
  if (nvrtc.major() > device->driver().version / 1000)
    return environmentError(describeMismatch(*device, nvrtc));
  int architecture = nvrtc.bestArchitecture(device->capability());
  if (architecture < 0)
    return environmentError("NVRTC " + nvrtc.describe() + " does not compile for CUDA device " +
                            std::to_string(device->ordinal()) + ", which is an sm_" +
                            std::to_string(device->capability()) +
                            ". Set NNCC_NVRTC to an older NVRTC, or use the CPU (--device=cpu)");

  std::vector<KernelSource> sources;
  size_t shortest = 0;
  for (size_t kernel : needed) {
    sources.push_back({model.kernels[kernel].symbol, model.kernels[kernel].source});
    if (std::strlen(sources.back().text) < std::strlen(sources[shortest].text))
      shortest = sources.size() - 1;
  }
  int cached = 0;
  double compileMs = 0;
  std::string warning;
  auto run = [&](const std::string &prefix,
                 std::span<const KernelSource> part) -> Result<CompiledKernels> {
    using Clock = std::chrono::steady_clock;
    auto start = Clock::now();
    auto compiled =
        compileKernels(nvrtc, model.header, part, prefix + std::to_string(architecture), threads);
    compileMs += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (compiled) {
      cached += compiled->fromCache;
      warning = compiled->warning;
    }
    return compiled;
  };
  auto load = [&](size_t source, const std::string &image) -> Result<bool> {
    std::string text;
    CUresult code = loadModule(needed[source], image.c_str(), text);
    if (code && !isUnsuitable(code))
      return loadFailure(*device, nvrtc, code, sources[source].symbol, text);
    return code == CUDA_SUCCESS;
  };
  // Machine code runs as it is; PTX is for devices that NVRTC does not know yet, and for drivers
  // that take nothing else. A short kernel tells.
  bool isMachineCode = architecture == device->capability() && !sources.empty();
  if (isMachineCode) {
    auto probe = run("sm_", std::span(sources).subspan(shortest, 1));
    if (!probe)
      return probe.error();
    auto taken = load(shortest, probe->images[0]);
    if (!taken)
      return taken.error();
    isMachineCode = *taken;
  }
  std::string prefix = isMachineCode ? "sm_" : "compute_";
  cached = 0; // the probe is among these
  auto compiled = run(prefix, sources);
  if (!compiled)
    return compiled.error();
  for (size_t i = 0; i < sources.size(); ++i) {
    if (modules[needed[i]])
      continue;
    auto taken = load(i, compiled->images[i]);
    if (!taken)
      return taken.error();
    if (!*taken)
      return loadFailure(*device, nvrtc, CUDA_ERROR_NO_BINARY_FOR_GPU, sources[i].symbol, "");
  }
  if (!warning.empty())
    log("warning: " + warning + "; the kernels are compiled again at the next start");
  log("model '" + program.modelName + "': " + std::to_string(sources.size()) + " kernels for " +
      prefix + std::to_string(architecture) + " by NVRTC " + nvrtc.describe() + " in " +
      std::to_string(std::lround(compileMs)) + " ms, " + std::to_string(cached) +
      " of them from the cache");
  return {};
}

Result<void> checkKernels(const Program &program, const ModelCuda &model) {
  bool isComplete = model.kernelCount == program.kernels.size();
  for (size_t i = 0; isComplete && i < program.kernels.size(); ++i)
    isComplete = program.kernels[i].symbol == model.kernels[i].symbol && program.kernels[i].cuda;
  if (!isComplete)
    return internalError("model '" + program.modelName +
                         "' has other CUDA kernels than its program names");
  return {};
}

Result<KernelTable> KernelTable::load(std::shared_ptr<const Device> device, const Program &program,
                                      const ModelCuda &model, const std::vector<bool> &isNeeded,
                                      int threads, const LogSink &log) {
  KernelTable table;
  table.device = device;
  for (size_t i = 0; i < isNeeded.size(); ++i)
    if (isNeeded[i])
      table.needed.push_back(i);
  if (table.needed.empty())
    return table;
  table.modules.resize(program.kernels.size());
  table.functions.resize(program.kernels.size());
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  auto isLoaded = table.loadImages(model);
  if (!isLoaded)
    return isLoaded.error();
  if (!*isLoaded)
    if (auto compiled = table.compile(program, model, threads, log); !compiled)
      return compiled.error();
  if (auto found = table.findFunctions(program); !found)
    return found.error();
  return table;
}

} // namespace nncc::rt::cuda
