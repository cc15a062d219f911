// Which kernels of a model a library does on the device at hand, and which are cut into other tiles. Takes a tuning file; leaves the
// choices that fit the device and the model's kernels, and the libraries that they need. Without a
// file there are none, and nothing is loaded.
#pragma once

#include "runtime/LoadedProgram.h"
#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/TuningFile.h"

#include <optional>

namespace nncc::rt::cuda {

/// "NVIDIA H200", "sm_90", "13.0": how tuning files name a device. Without libraries and kernels.
Result<TunedDevice> describeForTuning(const Device &device);

class KernelChoices {
public:
  /// A user error for a damaged file. One that does not fit is an error when it is required, else a
  /// warning.
  static Result<KernelChoices> load(const std::shared_ptr<const Device> &device,
                                    const Program &program, const ModelCuda &model,
                                    const LoadOptions &options);

  /// The choice of a library or another tile for a kernel of the program, or null: the kernel as it
  /// is. An error where a required file does not know it.
  Result<const TunedKernel *> find(const Program &program, uint32_t kernel,
                                   std::span<const int64_t> dims) const;
  /// Null for one that no choice needs.
  const std::shared_ptr<const KernelLibrary> &library(LibraryKind kind) const {
    return libraries[static_cast<size_t>(kind)];
  }

  /// The tile that was chosen for the kernel; null where the kernel has no such tile, which `load`
  /// has found out.
  static const TileVariant *findTile(const Kernel &kernel, const TunedKernel &choice);
  /// Per kernel of the program: whether a run may launch it, because a step names it or because it
  /// was chosen instead.
  std::vector<bool> kernelsOfRuns(const Program &program) const;

  /// How tuning files name a kernel of the program.
  const std::string &identity(uint32_t kernel) const { return identities[kernel]; }

private:
  Result<void> fit(const Device &device, const Program &program, const TuningFile &file);

  std::string path; ///< of the file, for messages
  bool isRequired = false;
  std::vector<std::string> identities; ///< per kernel of the program
  std::vector<TunedKernel> kernels;    ///< those of the program
  std::shared_ptr<const KernelLibrary> libraries[std::size(kLibraryKinds)];
};

/// The dims of a run as tuning files name them.
std::map<std::string, int64_t> namedDims(const Program &program, std::span<const int64_t> dims);

} // namespace nncc::rt::cuda
