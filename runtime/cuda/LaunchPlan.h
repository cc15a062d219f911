// The launches of an entry point for one binding of the named dims: grids and the values of the
// dims as kernels take them. Made once per binding; a run only adds the addresses of the buffers.
#pragma once

#include "runtime/Binding.h"
#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/KernelLoader.h"

namespace nncc::rt::cuda {

/// `program` and `bound` have to outlive it.
class LaunchPlan {
public:
  /// User errors for sizes that a kernel or a device does not take.
  static Result<LaunchPlan> make(const Program &program, const BoundEntry &bound);

  /// Whether a kernel reports to the status word.
  bool hasStatus() const { return reportsStatus; }

  /// Launches step `step`. `bases`: the address of each buffer of the program; `status`: of the
  /// word that kernels report to.
  Result<void> launch(size_t step, const Device &device, const KernelTable &kernels,
                      std::span<const CUdeviceptr> bases, CUdeviceptr status,
                      CUstream stream) const;

private:
  struct Launch {
    unsigned grid[3] = {};           ///< one is 0 for an empty result: nothing is launched
    std::vector<int64_t> wideDims;   ///< of a kernel that takes dims of 64 bits
    std::vector<int32_t> narrowDims; ///< of any other
  };
  const Program *program = nullptr;
  const BoundEntry *bound = nullptr;
  std::vector<Launch> launches;
  bool reportsStatus = false;
};

/// "lenet.nn:9:12: kernel 'conv2d_relu'"
std::string describeKernel(const Kernel &kernel);

/// The word by which kernels tell that they cannot do what they were asked, and its copy on the
/// host. A program without such kernels has none; then nothing here does anything.
class StatusWord {
public:
  static Result<StatusWord> create(std::shared_ptr<const Device> device, bool isNeeded);

  CUdeviceptr address() const { return word.address(); }
  /// To KernelOk.
  Result<void> clear(CUstream stream) const;
  /// Begins the copy to the host.
  Result<void> fetch(CUstream stream) const;
  /// The error that the word tells of, once the stream is done.
  Result<void> check() const;

private:
  std::shared_ptr<const Device> device;
  DeviceBlock word;
  PinnedBlock copy;
};

} // namespace nncc::rt::cuda
