// Loading for the CPU: choose the variant that this CPU runs best, read its Program, look up each
// kernel, take or prepare the weights.
#include "runtime/CpuProgram.h"

#include "runtime/CpuInstance.h"
#include "runtime/CpuLevel.h"
#include "runtime/ProgramJson.h"

#include <unordered_map>

namespace nncc::rt {

Result<void> CpuProgram::chooseVariant(const ModelDescriptor &descriptor) {
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

Result<std::shared_ptr<const CpuProgram>> CpuProgram::load(const ModelDescriptor &descriptor,
                                                           const LoadOptions &options) {
  if (Result<void> checked = checkVersion(descriptor); !checked)
    return checked.error();
  std::shared_ptr<CpuProgram> result(new CpuProgram);
  if (Result<void> chosen = result->chooseVariant(descriptor); !chosen)
    return chosen.error();
  result->withoutWeights = options.skipWeights;
  if (options.skipWeights)
    return std::shared_ptr<const CpuProgram>(result);

  WeightsSource source = findWeights(descriptor, options.weightsPath, options.embeddedName);
  Result<std::unique_ptr<TaskPool>> pool = makePool(options.threads);
  if (!pool)
    return pool.error();
  Result<Weights> weights =
      Weights::load(result->loaded, result->functions, source, **pool, options.allocator);
  if (!weights)
    return weights.error();
  result->loadedWeights = std::move(*weights);
  options.log(
      "model '" + result->loaded.modelName + "': code for " + result->level + ", weights " +
      describe(source) +
      (result->loadedWeights.wasPrepared() ? ", packed at load" : ", packed at compile time"));
  return std::shared_ptr<const CpuProgram>(result);
}

Result<std::unique_ptr<Instance>> CpuProgram::createInstance(const ThreadOptions &threads,
                                                             const Allocator &allocator,
                                                             bool trains) const {
  if (Result<void> checked = checkRunnable(trains); !checked)
    return checked.error();
  auto self = std::static_pointer_cast<const CpuProgram>(shared_from_this());
  return CpuInstance::create(std::move(self), threads, allocator, trains);
}

} // namespace nncc::rt
