// --emit=dot: the model as a graph for Graphviz (dot -Tsvg).
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace nncc::driver {

/// One node per op or kernel of @infer, with its layer's name and its output's type; parameters are
/// left out, constants too.
std::string drawModel(mlir::ModuleOp module);

} // namespace nncc::driver
