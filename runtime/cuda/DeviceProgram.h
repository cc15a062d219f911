// A Program on one CUDA device: its kernels compiled and loaded, its parameters and the constants that "prepare" makes of them in
// device memory. Takes host tensors for a run and leaves the results in host tensors.
#pragma once

#include "runtime/Program.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/KernelCache.h"

#include <span>

namespace nncc::rt::cuda {

/// The CUDA C++ of one kernel, named by Kernel::symbol.
struct KernelSource {
  std::string symbol, text;
};

struct DeviceOptions {
  int ordinal = 0;                    ///< of the device
  const KernelCache *cache = nullptr; ///< null: nothing is kept
};

class DeviceProgram {
public:
  /// Compiles `sources`, each behind `header`, for the device, in parallel. `program` must outlive this.
  static Result<DeviceProgram> create(const Program &program, const std::string &header, std::span<const KernelSource> sources,
                                      const DeviceOptions &options);
  DeviceProgram(DeviceProgram &&other) noexcept;
  DeviceProgram &operator=(DeviceProgram &&) = delete;
  ~DeviceProgram();

  /// Copies the parameters (one address per buffer of the program, in public layout; null for the others) to the device and runs
  /// "prepare".
  Result<void> setParameters(std::span<const std::byte *const> contents);

  /// Runs "infer" for these dims: inputs from, outputs to host memory of the entry point's tensors, in its order.
  Result<void> run(std::span<const int64_t> dims, std::span<const std::byte *const> inputs, std::span<std::byte *const> outputs);

private:
  struct Kernel {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
  };
  DeviceProgram(const Program &program, const Driver &driver) : program(program), driver(&driver) {}

  Result<void> load(const std::string &header, std::span<const KernelSource> sources, const DeviceOptions &options);
  Result<void> allocate(uint32_t buffer, int64_t sizeBytes);
  Result<void> launch(const EntryPoint &entry, std::span<const int64_t> dims, CUdeviceptr arena,
                      std::span<const int64_t> arenaOffsets);

  const Program &program;
  const Driver *driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr status = 0; ///< the word that kernels report to
  std::vector<Kernel> kernels;          ///< per kernel of the program
  std::vector<CUdeviceptr> memory; ///< per buffer: inputs, outputs, parameters, constants; 0 for the arena
  std::vector<int64_t> memoryBytes;
};

} // namespace nncc::rt::cuda
