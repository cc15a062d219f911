// The parameters and constants of a loaded program. Takes a safetensors image (embedded in the
// model, or a mapped file) with either the constants that the compiler prepared or the parameters
// under their public names; leaves an address for every buffer that the entry points read. Prepared
// constants are used where they lie; otherwise "prepare" runs once: here on the CPU, or on a device
// that takes the parameters from here.
#pragma once

#include "runtime/Execution.h"
#include "runtime/File.h"
#include "runtime/Memory.h"
#include "runtime/ModelDescriptor.h"

#include <set>

namespace nncc::rt {

struct WeightsSource {
  std::span<const std::byte> embedded; ///< used when path is empty
  std::string embeddedName;            ///< of these bytes, in messages
  std::string path;
};

/// The weights of a model: the file that the caller names, else what the descriptor brings along.
WeightsSource findWeights(const ModelDescriptor &descriptor, const std::string &path,
                          const std::string &embeddedName);
/// "embedded", "from 'lenet.weights'"
std::string describe(const WeightsSource &source);

/// The parameters and constants that the steps of an entry point name, or that it returns.
std::set<uint32_t> weightsNamedBy(const Program &program, const EntryPoint &entry);
/// Those of all entry points but "prepare".
std::set<uint32_t> weightsOfRuns(const Program &program);

class Weights {
public:
  /// Weights in host memory as the source has them: what runs read, or, when needsPrepare(), the
  /// parameters that "prepare" and runs read. Lists all missing and misfitting weights in one user
  /// error.
  static Result<Weights> find(const Program &program, const WeightsSource &source,
                              const Allocator &allocator);

  /// Everything that runs on the CPU read.
  static Result<Weights> load(const Program &program, std::span<const CpuKernel> kernels,
                              const WeightsSource &source, TaskPool &pool,
                              const Allocator &allocator);

  /// Per buffer of the program: its contents for a parameter or constant that an entry point reads,
  /// else nullptr.
  std::span<std::byte *const> data() const { return addresses; }

  /// Whether "prepare" has to run before a run.
  bool needsPrepare() const { return isUnprepared; }
  /// Whether "prepare" had to run.
  bool wasPrepared() const { return prepared; }

private:
  friend class WeightsLoader;
  MappedFile file;
  std::vector<MemoryBlock> blocks;
  std::vector<std::byte *> addresses;
  bool isUnprepared = false;
  bool prepared = false;
};

} // namespace nncc::rt
