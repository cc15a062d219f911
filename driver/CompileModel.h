// All stages from a model's source to code and weights, as nncc and the JIT run them.
#pragma once

#include "driver/ImportModel.h"
#include "driver/ParameterImage.h"
#include "driver/Stages.h"

namespace nncc::driver {

/// The kinds of devices that a model is compiled for.
struct Targets {
  bool cpu = false, cuda = false;
};
/// Reads "cpu", "cuda" or "cpu,cuda".
Result<Targets> parseTargets(llvm::StringRef text);

struct CompileRequest {
  ModelSource source;
  std::vector<std::string> cpus = {"native"}; ///< one variant each; none: no code for the CPU
  bool forCuda = false;
  std::vector<std::string> gpuArchitectures; ///< "sm_80": machine code ahead of time, for these
  codegen::cuda::CudaOptions cudaOptions;
  std::string tuningPath; ///< a tuning file to put into the model, or empty
  unsigned optLevel = 3;
  WeightsOptions weights;
  PassOptions passes;
};

struct CompiledModel {
  std::vector<VariantCode> variants;
  std::optional<CudaCode> cuda;
  /// A safetensors image. For one variant that this machine can run and no other, and that does not
  /// train: what its kernels read, prepared. Otherwise the parameters, which the runtime prepares when it loads the model:
  /// each device packs them in its own way.
  std::string weights;
  std::string warnings; ///< rendered
};

Result<CompiledModel> compileModel(mlir::MLIRContext &context, const CompileRequest &request);

} // namespace nncc::driver
