// Tables for people: the layers of a model before compilation (--emit=summary), and the memory and
// kernels of the compiled one (--report).
#pragma once

#include "runtime/Program.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace nncc::driver {

/// Name, kind, output shape, parameters and FLOPs of each layer. FLOPs are counted with every named
/// dim at its smallest value.
std::string summarizeModel(mlir::ModuleOp imported);

/// The layer that an op belongs to: the path of the parameters that it reads, else "".
std::string layerName(mlir::Operation *op);

/// Arena bytes against the sum and the lower bound, and what each kernel does, for these dims.
Result<std::string> reportMemory(const rt::Program &program, size_t codeBytes, size_t weightsBytes);

} // namespace nncc::driver
