// The parameters and constants of a loaded program. Takes a safetensors image (embedded in the
// model, or a mapped file) with either the constants that the compiler prepared or the parameters
// under their public names; leaves an address for every buffer that the entry points read. Prepared
// constants are used where they lie; otherwise "prepare" runs once.
#pragma once

#include "runtime/Execution.h"
#include "runtime/File.h"
#include "runtime/Memory.h"

namespace nncc::rt {

struct WeightsSource {
  std::span<const std::byte> embedded; ///< used when path is empty
  std::string embeddedName;            ///< of these bytes, in messages
  std::string path;
};

class Weights {
public:
  /// Lists all missing and misfitting weights in one user error.
  static Result<Weights> load(const Program &program, std::span<const CpuKernel> kernels,
                              const WeightsSource &source, TaskPool &pool,
                              const Allocator &allocator);

  /// Per buffer of the program: its contents for a parameter or constant that an entry point reads,
  /// else nullptr.
  std::span<std::byte *const> data() const { return addresses; }

  /// Whether "prepare" had to run.
  bool wasPrepared() const { return prepared; }

private:
  friend class WeightsLoader;
  MappedFile file;
  std::vector<MemoryBlock> blocks;
  std::vector<std::byte *> addresses;
  bool prepared = false;
};

} // namespace nncc::rt
