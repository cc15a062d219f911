// All stages from a model's source to code and weights, as nncc and the JIT run them.
#pragma once

#include "driver/ImportModel.h"
#include "driver/ParameterImage.h"
#include "driver/Stages.h"

namespace nncc::driver {

struct CompileRequest {
  ModelSource source;
  std::vector<std::string> cpus = {"native"}; ///< one variant each
  unsigned optLevel = 3;
  WeightsOptions weights;
  PassOptions passes;
};

struct CompiledModel {
  std::vector<VariantCode> variants;
  /// A safetensors image. For one variant that this machine can run: what its kernels read,
  /// prepared. Otherwise the parameters, which the runtime prepares when it loads the model: each
  /// CPU packs them in its own way.
  std::string weights;
  std::string warnings; ///< rendered
};

Result<CompiledModel> compileModel(mlir::MLIRContext &context, const CompileRequest &request);

} // namespace nncc::driver
