// The weights of a compilation as one safetensors image: from a file, or from each parameter's
// initialiser and a seed, together with the constants that passes moved out of the kernels.
#pragma once

#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace nncc::driver {

struct WeightsOptions {
  std::string path; ///< a safetensors file, or empty: initialise
  uint64_t seed = 0;
};

/// Every nn.parameter of `module`, under its public name. The fit of a file's tensors is checked
/// where the image is loaded.
Result<std::string> makeParameterImage(mlir::ModuleOp module, const WeightsOptions &options);

} // namespace nncc::driver
