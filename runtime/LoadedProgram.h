// A model ready to run on one device: the Program for it, and behind the interface its kernels and
// weights in that device's memory. Immutable once loaded; any number of instances share it.
#pragma once

#include "runtime/Memory.h"
#include "runtime/ModelDescriptor.h"
#include "runtime/Program.h"
#include "runtime/TaskPool.h"

#include <memory>

namespace nncc::rt {

class Instance;

struct LogSink {
  void (*write)(void *context, const char *message) = nullptr;
  void *context = nullptr;

  void operator()(const std::string &message) const {
    if (write)
      write(context, message.c_str());
  }
};

struct ThreadOptions {
  int threads = 0;          ///< 0: one per usable core
  CallerParallelFor caller; ///< used instead when its function is set
};

Result<std::unique_ptr<TaskPool>> makePool(const ThreadOptions &options);

struct LoadOptions {
  std::string device;      ///< see DeviceName.h; empty: the model's own choice
  std::string weightsPath; ///< empty: what the model brings along
  std::string embeddedName = "embedded weights"; ///< of these, in messages
  bool skipWeights = false; ///< for information only; such a program has no weights and cannot run
  std::string tuningPath; ///< CUDA: a tuning file; empty: the model's own, if it has one
  bool tuningRequired = false; ///< an error where it does not fit the device and every kernel
  ThreadOptions threads;    ///< for "prepare" and compilation
  Allocator allocator;
  LogSink log;
};

class LoadedProgram : public std::enable_shared_from_this<LoadedProgram> {
public:
  virtual ~LoadedProgram();

  /// For the device that the options name, or for the CPU where the model has code for it, else for
  /// the first CUDA device.
  static Result<std::shared_ptr<const LoadedProgram>> load(const ModelDescriptor &descriptor,
                                                           const LoadOptions &options);

  const Program &program() const { return loaded; }
  bool hasWeights() const { return !withoutWeights; }

  /// "cpu" or "cuda".
  virtual const char *target() const = 0;
  /// What the code in use is made for: "x86-64-v3", "sm_80".
  virtual std::string codeName() const = 0;
  /// `threads` for the CPU; `allocator` for large blocks of host memory. One that `trains` has
  /// parameters and states of its own.
  virtual Result<std::unique_ptr<Instance>> createInstance(const ThreadOptions &threads,
                                                           const Allocator &allocator,
                                                           bool trains = false) const = 0;

protected:
  LoadedProgram() = default;
  /// An environment error when the descriptor is of another version.
  static Result<void> checkVersion(const ModelDescriptor &descriptor);
  Result<void> checkRunnable(bool trains) const;

  Program loaded;
  bool withoutWeights = false;
};

/// All that the model was compiled for: "cpu (x86-64-v3), cuda (sm_80, others by NVRTC)".
std::string describeTargets(const ModelDescriptor &descriptor);

} // namespace nncc::rt
