// The reads of parameters in an entry point.
#pragma once

#include "ir/NN.h"

#include "llvm/ADT/MapVector.h"

namespace nncc::passes {

/// Leaves one nn.get_parameter for each parameter that `body` reads, at its start where there were several, in the order in which
/// they were first read: a parameter read twice is one value to differentiate by.
llvm::MapVector<mlir::StringAttr, nn::GetParameterOp> mergeParameterReads(mlir::Block &body);

} // namespace nncc::passes
