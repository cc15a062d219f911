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
  CUdeviceptr workspace = 0;          ///< libraryWorkspaceBytes for calls of libraries
  CUstream stream = nullptr;
};

/// `program` and `bound` have to outlive it.
class LaunchPlan {
public:
  /// User errors for sizes that a kernel or a device does not take.
  static Result<LaunchPlan> make(const Program &program, const BoundEntry &bound);

  /// Whether a kernel reports to the status word.
  bool hasStatus() const { return reportsStatus; }

  /// Makes a library do the work of a step, and with `replacesParts` of the one before.
  void use(size_t step, std::unique_ptr<LibraryKernel> library, bool replacesParts);
  /// What the libraries that do steps need.
  int64_t libraryWorkspaceBytes() const { return workspaceBytes; }

  /// Launches step `step`, or calls the library that does it.
  Result<void> launch(size_t step, const LaunchTarget &target) const;
  /// Launches the step's kernel, whatever does it in a run. `result`: where its last argument lies
  /// instead, or 0.
  Result<void> launchKernel(size_t step, const LaunchTarget &target, CUdeviceptr result = 0) const;
  /// Calls a library for the step.
  Result<void> launchLibrary(const LibraryKernel &library, size_t step, const LaunchTarget &target,
                             CUdeviceptr result = 0) const;

private:
  struct Launch {
    unsigned grid[3] = {};                  ///< one is 0 for an empty result: nothing is launched
    std::vector<int64_t> wideDims;          ///< of a kernel that takes dims of 64 bits
    std::vector<int32_t> narrowDims;        ///< of any other
    std::unique_ptr<LibraryKernel> library; ///< instead of the kernel
    bool isReplaced = false;                ///< the next step's library does it too
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
