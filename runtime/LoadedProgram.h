// A model ready to run: the Program, the kernels for this CPU and the weights. Immutable once
// loaded; any number of instances share it.
#pragma once

#include "runtime/ModelDescriptor.h"
#include "runtime/Weights.h"

#include <memory>

namespace nncc::rt {

struct LogSink {
  void (*write)(void *context, const char *message) = nullptr;
  void *context = nullptr;
};

struct ThreadOptions {
  int threads = 0;          ///< 0: one per usable core
  CallerParallelFor caller; ///< used instead when its function is set
};

Result<std::unique_ptr<TaskPool>> makePool(const ThreadOptions &options);

struct LoadOptions {
  std::string weightsPath;                       ///< empty: what the model brings along
  std::string embeddedName = "embedded weights"; ///< of these, in messages
  bool skipWeights = false; ///< for information only; such a program has no weights and cannot run
  ThreadOptions threads;    ///< for "prepare"
  Allocator allocator;
  LogSink log;
};

class LoadedProgram {
public:
  static Result<std::shared_ptr<const LoadedProgram>> load(const ModelDescriptor &descriptor,
                                                           const LoadOptions &options);

  const Program &program() const { return loaded; }
  std::span<const CpuKernel> kernels() const {
    return functions;
  } ///< one per kernel of the program
  const Weights &weights() const { return loadedWeights; }
  const std::string &cpuLevel() const { return level; }
  bool hasWeights() const { return !withoutWeights; }

private:
  LoadedProgram() = default;
  Result<void> chooseVariant(const ModelDescriptor &descriptor);

  Program loaded;
  std::vector<CpuKernel> functions;
  std::string level;
  Weights loadedWeights;
  bool withoutWeights = false;
};

} // namespace nncc::rt
