// Runs on a CUDA device: a stream, an arena, staging memory for tensors of the host, captured
// graphs, events for profiles. All of it is kept from run to run and grows when a larger batch
// comes.
#pragma once

#include "runtime/Instance.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/cuda/RunGraphs.h"
#include "runtime/cuda/StepLibraries.h"
#include "runtime/cuda/StepTimer.h"

namespace nncc::rt::cuda {

class CudaInstance final : public Instance {
public:
  static Result<std::unique_ptr<Instance>> create(std::shared_ptr<const CudaProgram> program,
                                                  const Allocator &allocator, bool trains);
  ~CudaInstance() override;

  /// The arena; kernels need no other memory.
  int64_t workspaceBytes(const BoundEntry &bound) const override { return bound.memory.arenaBytes; }
  int lanes() const override { return 1; }
  /// Tensors are in host memory or on this instance's device; a workspace of the caller's is on the
  /// device.
  Result<void> run(const EntryPoint &entry, const RunArguments &arguments) override;
  Result<void> tune(const EntryPoint &entry, const RunArguments &arguments,
                    const std::string &path) override;
  Result<DLManagedTensorVersioned *> allocateOutput(DType type, std::span<const int64_t> shape,
                                                    int64_t sizeBytes, MemoryPlace place) override;

private:
  struct CudaBinding final : Binding {
    using Binding::Binding;
    LaunchPlan plan;
  };
  /// The way of one tensor of the caller's between its memory and the kernels.
  struct Transfer {
    const TensorView *tensor;
    uint32_t buffer;
    int64_t sizeBytes;
    int64_t deviceOffset = -1; ///< in the staging block of the device; -1: used where it lies
    int64_t hostOffset = -1;   ///< in the pinned block; -1: copied from or to the tensor itself
  };

  CudaInstance(std::shared_ptr<const CudaProgram> program, bool trains);
  Result<std::unique_ptr<Binding>> makeBinding(const EntryPoint &entry,
                                               std::span<const int64_t> dims) override;
  void forget(const Binding &binding) override;

  Result<void> readBuffer(uint32_t id, int64_t offsetBytes, std::span<std::byte> to) override;
  Result<void> writeBuffer(uint32_t id, int64_t offsetBytes, std::span<const std::byte> from) override;
  Result<void> allocateState();
  /// The call, behind which parameters and states are what they were before.
  Result<void> keepingState(const std::function<Result<void>()> &call);
  Result<void> initialiseState(std::span<const CUdeviceptr> shared);
  /// Makes the constants of an instance that trains from its parameters.
  Result<void> prepareConstants();
  Result<void> checkPlaces(const char *role, std::span<const TensorView> tensors,
                           const std::vector<uint32_t> &ids) const;
  Result<CUdeviceptr> findWorkspace(const BoundEntry &bound, std::span<std::byte> given);
  std::vector<Transfer> listTransfers(const BoundEntry &bound, std::span<const TensorView> tensors,
                                      const std::vector<uint32_t> &ids) const;
  Result<void> placeTensors(const RunArguments &arguments);
  Result<void> waitForCaller(CUstream theirs);
  Result<void> copyIn();
  /// A run that ends with the results at the caller's; `launch` puts the steps on the stream.
  Result<void> runWith(const EntryPoint &entry, const RunArguments &arguments,
                       const std::function<Result<void>(const CudaBinding &)> &launch);
  Result<void> launchAll(const CudaBinding &binding, std::span<StepTimes> times);
  Result<void> launchSteps(const CudaBinding &binding, StepTimer *timer);
  Result<void> copyOut();

  LaunchTarget target() const {
    return {*device,          cudaProgram().kernels(), bases,
            status.address(), libraryMemory.address(), stream.get()};
  }
  const CudaProgram &cudaProgram() const { return static_cast<const CudaProgram &>(model()); }
  const Driver &driver() const { return device->driver(); }

  std::shared_ptr<const Device> device;
  Allocator memoryAllocator;
  Stream stream;
  StatusWord status;
  DeviceBlock arena, staging, state, constants;
  DeviceBlock libraryMemory; ///< a workspace that libraries share
  PinnedBlock pinned;
  std::vector<CUdeviceptr> fixedBases; ///< per buffer: weights and state
  std::vector<CUdeviceptr> bases;      ///< per buffer, for the present run
  std::vector<Transfer> inputs, outputs;
  StepLibraries libraries;
  RunGraphs graphs;
  StepTimer timer;
  bool usesGraphs = true;        ///< unless NNCC_CUDA_GRAPHS=0
  bool waitsForEachStep = false; ///< NNCC_CUDA_SYNC=1
};

} // namespace nncc::rt::cuda
