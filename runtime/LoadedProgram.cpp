// Loading: choose the variant that this CPU runs best, read its Program, look up each kernel, take
// or prepare the weights.
#include "runtime/LoadedProgram.h"

#include "runtime/CpuLevel.h"
#include "runtime/ProgramJson.h"

#include <dlfcn.h>
#include <unordered_map>

namespace nncc::rt {
namespace {

/// A relative weights file lies next to the shared object that holds the descriptor. A descriptor
/// on the heap (JIT) belongs to no shared object; then the path is taken as it is.
std::string resolveWeightsFile(const ModelDescriptor &descriptor) {
  std::string file = descriptor.weightsFile ? descriptor.weightsFile : "";
  Dl_info info;
  if (file.empty() || file[0] == '/' || !dladdr(&descriptor, &info) || !info.dli_fname)
    return file;
  std::string object = info.dli_fname;
  size_t slash = object.rfind('/');
  return slash == std::string::npos ? file : object.substr(0, slash + 1) + file;
}

} // namespace

Result<std::unique_ptr<TaskPool>> makePool(const ThreadOptions &options) {
  if (options.caller.parallelFor)
    return makeCallerPool(options.caller);
  return makeThreadPool(options.threads > 0 ? options.threads : usableCoreCount());
}

Result<void> LoadedProgram::chooseVariant(const ModelDescriptor &descriptor) {
  const ModelVariant *best = nullptr;
  int bestRank = -1;
  std::string levels;
  for (uint32_t i = 0; i < descriptor.variantCount; ++i) {
    const ModelVariant &variant = descriptor.variants[i];
    levels += (i ? ", " : "") + std::string(variant.cpuLevel);
    std::optional<int> rank = rankOnHost(variant.cpuLevel);
    if (rank && *rank > bestRank) {
      best = &variant;
      bestRank = *rank;
    }
  }
  if (!best)
    return environmentError("the model holds code for " + (levels.empty() ? "no CPU" : levels) +
                            ", but this CPU is " + hostCpuLevel() +
                            "; compile the model for a level that it supports (--cpu)");
  level = best->cpuLevel;
  Result<Program> program = readProgramJson({best->programJson, best->programJsonBytes});
  if (!program)
    return program.error();
  loaded = std::move(*program);
  std::unordered_map<std::string_view, CpuKernel> table;
  for (uint64_t i = 0; i < best->kernelCount; ++i)
    table.emplace(best->kernels[i].symbol, best->kernels[i].function);
  for (const Kernel &kernel : loaded.kernels) {
    auto found = table.find(kernel.symbol);
    if (found == table.end() || !found->second)
      return internalError("model '" + loaded.modelName + "' has no code for kernel '" +
                           kernel.symbol + "' at level " + level);
    functions.push_back(found->second);
  }
  return {};
}

Result<std::shared_ptr<const LoadedProgram>> LoadedProgram::load(const ModelDescriptor &descriptor,
                                                                 const LoadOptions &options) {
  if (descriptor.version != kModelDescriptorVersion)
    return internalError("expected model descriptor version " +
                         std::to_string(kModelDescriptorVersion) + ", found " +
                         std::to_string(descriptor.version));
  std::shared_ptr<LoadedProgram> result(new LoadedProgram);
  if (Result<void> chosen = result->chooseVariant(descriptor); !chosen)
    return chosen.error();
  result->withoutWeights = options.skipWeights;
  if (options.skipWeights)
    return std::shared_ptr<const LoadedProgram>(result);

  WeightsSource source;
  source.path = options.weightsPath;
  source.embeddedName = options.embeddedName;
  if (source.path.empty() && descriptor.weights)
    source.embedded = {static_cast<const std::byte *>(descriptor.weights), descriptor.weightsBytes};
  else if (source.path.empty())
    source.path = resolveWeightsFile(descriptor);
  Result<std::unique_ptr<TaskPool>> pool = makePool(options.threads);
  if (!pool)
    return pool.error();
  Result<Weights> weights =
      Weights::load(result->loaded, result->functions, source, **pool, options.allocator);
  if (!weights)
    return weights.error();
  result->loadedWeights = std::move(*weights);
  if (options.log.write) {
    std::string message =
        "model '" + result->loaded.modelName + "': code for " + result->level + ", weights " +
        (source.path.empty() ? "embedded" : "from '" + source.path + "'") +
        (result->loadedWeights.wasPrepared() ? ", packed at load" : ", packed at compile time");
    options.log.write(options.log.context, message.c_str());
  }
  return std::shared_ptr<const LoadedProgram>(result);
}

} // namespace nncc::rt
