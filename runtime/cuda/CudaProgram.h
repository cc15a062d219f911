// A model loaded on one CUDA device: its kernels, and its weights in device memory in the form that
// the kernels read.
#pragma once

#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/KernelChoices.h"
#include "runtime/cuda/KernelLoader.h"
#include "runtime/cuda/LaunchPlan.h"

#include <set>

namespace nncc::rt::cuda {

class CudaProgram final : public LoadedProgram {
public:
  static Result<std::shared_ptr<const CudaProgram>> load(const ModelDescriptor &descriptor,
                                                         int ordinal, const LoadOptions &options);

  const char *target() const override { return "cuda"; }
  std::string codeName() const override;
  Result<std::unique_ptr<Instance>> createInstance(const ThreadOptions &threads,
                                                   const Allocator &allocator,
                                                   bool trains = false) const override;

  const std::shared_ptr<const Device> &device() const { return itsDevice; }
  const KernelTable &kernels() const { return table; }
  /// Per buffer of the program: the address of a parameter or constant that runs read, else 0.
  std::span<const CUdeviceptr> weights() const { return addresses; }
  /// The code of all kernels, of which `kernels()` has those that runs launch.
  const ModelCuda &code() const { return *model; }
  /// What a tuning file says of the kernels.
  const KernelChoices &choices() const { return kernelChoices; }
  /// Weights in layouts of libraries.
  const std::shared_ptr<FilterStore> &filterStore() const { return filters; }

  /// Runs "prepare" and waits.
  Result<void> prepare(std::span<const CUdeviceptr> bases, CUstream stream) const;

private:
  CudaProgram() = default;
  Result<void> loadWeights(const ModelDescriptor &descriptor, const LoadOptions &options);
  Result<void> copyWeight(const Buffer &buffer, const std::byte *bytes, CUdeviceptr to,
                          CUstream stream) const;

  std::shared_ptr<const Device> itsDevice;
  KernelTable table;
  const ModelCuda *model = nullptr; ///< part of the descriptor, which outlives this
  KernelChoices kernelChoices;
  DeviceBlock memory;
  std::vector<CUdeviceptr> addresses;
  std::shared_ptr<FilterStore> filters;
};

/// One block with a place for each of `buffers`, whose sizes depend on no dim; their addresses go
/// to `bases`, one per buffer of the program. `role` stands in errors: "the weights".
Result<DeviceBlock> placeBuffers(std::shared_ptr<const Device> device, const Program &program,
                                 const std::set<uint32_t> &buffers, const std::string &role,
                                 std::vector<CUdeviceptr> &bases);

/// The distance in bytes between tensors that share a block: what the driver aligns blocks to.
inline constexpr int64_t kDeviceAlignmentBytes = 256;

} // namespace nncc::rt::cuda

/// What the descriptor of a model with CUDA code refers to.
extern "C" const nncc::rt::DeviceBackend nncc_cuda_backend;
