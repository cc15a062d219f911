// --dump-phases: the module after each pass that changed it, in numbered files of one folder.
#pragma once

#include "support/Error.h"

#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <string>

namespace nncc::driver {

/// Creates the folder where it is missing. Files are called 00-input.mlir, 01-canonicalize.mlir,
/// ...
Result<std::unique_ptr<mlir::PassInstrumentation>> createPhaseDump(std::string folder);

} // namespace nncc::driver
