// A model's text to a module, for tests: what was built, in the words of the language, or the
// diagnostics.
#pragma once

#include "frontend/nn/ImportNn.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <string>

namespace nncc::frontend {

struct Imported {
  mlir::MLIRContext context;
  SourceManager sources;
  Diagnostics diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::unique_ptr<Imported> importText(const std::string &text, const ImportOptions &options = {},
                                     const std::string &path = "test.nn");

/// The parameters in their order: "fc1.weight f32[64, 784] uniform".
std::string parametersOf(mlir::ModuleOp module);
/// "image f32[N, 1, 28, 28] -> logits f32[N, 10]"
std::string signatureOf(mlir::ModuleOp module);
/// The names of the ops in @infer but for parameters and the return, "conv relu reshape matmul".
std::string opsOf(mlir::ModuleOp module);

/// "line:column: message" of the first error, or "no error".
std::string importError(const std::string &text, const ImportOptions &options = {});
/// The same for statements in a model `M(x: f32[N, 8], img: f32[N, 3, 16, 16], ids: i64[N, T])`;
/// the first is line 3.
std::string bodyError(const std::string &statements);
/// The model that bodyError wraps round statements.
std::string modelAround(const std::string &statements);

} // namespace nncc::frontend
