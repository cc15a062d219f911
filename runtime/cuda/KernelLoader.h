// The kernels of a model on one device. Takes the text and the images of the model; leaves loaded
// functions: from an image made ahead of time where one fits the device, else compiled by NVRTC in
// parallel threads, through the kernel cache.
#pragma once

#include "runtime/LoadedProgram.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/Nvrtc.h"

#include <optional>
#include <span>

namespace nncc::rt::cuda {

/// What NVRTC is to compile: the text of one kernel behind the header of its model.
struct KernelSource {
  const char *symbol;
  const char *text;
};

struct CompiledKernels {
  std::vector<std::string> images; ///< one per source
  int fromCache = 0;
  std::string warning; ///< why an image could not be stored, if so
};

/// Compiles every source for `architecture` ("sm_80", "compute_80"). Several threads share the
/// work.
Result<CompiledKernels> compileKernels(const Nvrtc &nvrtc, const std::string &header,
                                       std::span<const KernelSource> sources,
                                       const std::string &architecture, int threads);

/// Which of these architectures ("sm_80") a device of this capability runs best: machine code runs
/// on its major version, from its minor version on; code for "sm_90a" on that very capability.
std::optional<size_t> chooseArchitecture(std::span<const char *const> architectures,
                                         int capability);

/// An internal error unless the model has code for each kernel of the program, in the same order.
Result<void> checkKernels(const Program &program, const ModelCuda &model);

/// The loaded functions, unloaded at the end of its life.
class KernelTable {
public:
  KernelTable() = default;
  /// Those with `isNeeded`, of a model that is checked. `threads` = 0: one per usable core.
  static Result<KernelTable> load(std::shared_ptr<const Device> device, const Program &program,
                                  const ModelCuda &model, const std::vector<bool> &isNeeded,
                                  int threads, const LogSink &log);
  KernelTable(KernelTable &&) = default;
  KernelTable &operator=(KernelTable &&) = default;
  ~KernelTable();

  /// Of a kernel that was needed.
  CUfunction function(uint32_t kernel) const { return functions[kernel]; }

private:
  CUresult loadModule(size_t kernel, const void *image, std::string &log);
  Result<bool> loadImages(const ModelCuda &model);
  Result<void> compile(const Program &program, const ModelCuda &model, int threads,
                       const LogSink &log);
  Result<void> findFunctions(const Program &program);
  void unload();

  std::shared_ptr<const Device> device;
  std::vector<size_t> needed;        ///< kernels of the program
  std::vector<CUmodule> modules;     ///< per kernel of the program; null for what is not needed
  std::vector<CUfunction> functions; ///< likewise
};

} // namespace nncc::rt::cuda
