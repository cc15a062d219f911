// The launches of an entry point for one binding of the named dims: grids and the values of the
// dims as kernels take them. Made once per binding; a run only adds the addresses of the buffers.
#pragma once

#include "runtime/Binding.h"
#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/KernelLoader.h"

namespace nncc::rt::cuda {

/// Where steps are launched.
struct LaunchTarget {
  const Device &device;
  const KernelTable &kernels;
  std::span<const CUdeviceptr> bases; ///< the address of each buffer of the program
  CUdeviceptr status = 0;             ///< of the word that kernels report to
  CUdeviceptr workspace = 0;          ///< alternativesWorkspaceBytes for alternatives
  CUstream stream = nullptr;
};

/// A kernel with its grid and the dims as it takes them.
class KernelLaunch {
public:
  /// For the arguments of step `step`. User errors for sizes that the kernel or a device does not
  /// take.
  static Result<KernelLaunch> make(const Program &program, const Kernel &kernel,
                                   const BoundEntry &bound, size_t step);
  Result<void> launch(const Device &device, CUfunction function,
                      std::span<const CUdeviceptr> pointers, CUstream stream) const;

private:
  const Kernel *kernel = nullptr;
  unsigned grid[3] = {};           ///< one is 0 for an empty result: nothing is launched
  std::vector<int64_t> wideDims;   ///< of a kernel that takes dims of 64 bits
  std::vector<int32_t> narrowDims; ///< of any other
};

/// `program` and `bound` have to outlive it.
class LaunchPlan {
public:
  /// User errors for sizes that a kernel or a device does not take.
  static Result<LaunchPlan> make(const Program &program, const BoundEntry &bound);

  /// Whether a kernel reports to the status word.
  bool hasStatus() const { return reportsStatus; }

  /// Makes an alternative do the work of a step, and with `replacesParts` of the one before.
  void use(size_t step, std::unique_ptr<StepAlternative> alternative, bool replacesParts);
  /// What the alternatives in use need.
  int64_t alternativesWorkspaceBytes() const { return workspaceBytes; }

  /// Launches step `step` by its kernel, or by the alternative in use.
  Result<void> launch(size_t step, const LaunchTarget &target) const;
  /// Launches the step's kernel, whatever does it in a run. `result`: where its last argument lies
  /// instead, or 0.
  Result<void> launchKernel(size_t step, const LaunchTarget &target, CUdeviceptr result = 0) const;
  /// Does the step in another way.
  Result<void> launchAlternative(const StepAlternative &alternative, size_t step,
                                 const LaunchTarget &target, CUdeviceptr result = 0) const;

private:
  struct Launch {
    KernelLaunch own;
    std::unique_ptr<StepAlternative> alternative; ///< instead of the kernel
    bool isReplaced = false;                      ///< the next step's alternative does it too
  };
  Result<size_t> collectPointers(size_t step, const LaunchTarget &target, CUdeviceptr result,
                                 std::span<CUdeviceptr> pointers) const;

  const Program *program = nullptr;
  const BoundEntry *bound = nullptr;
  std::vector<Launch> launches;
  bool reportsStatus = false;
  int64_t workspaceBytes = 0;
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
