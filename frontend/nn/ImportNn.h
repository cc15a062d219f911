// The .nn frontend: a model's text, and the files that it imports, to a module of the nn dialect.
// The module holds the parameters (nn.parameter, named as in a PyTorch state_dict, with their
// initialisers), the named dims (`nn.dims`) and one function @infer whose arguments and results
// carry their public names. Every op has the line and column of the call that it came from.
#pragma once

#include "frontend/nn/Ast.h"
#include "frontend/nn/Diagnostic.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace nncc::frontend {

struct ImportOptions {
  /// Which model of the file; empty where it has one.
  std::string model;
  /// Fixed values of named dims (`--dim N=8`): the dim becomes this constant.
  std::vector<std::pair<std::string, int64_t>> fixedDims;
  /// Keep what the train section says: @evaluate and the attribute `nn.train`.
  bool training = false;
  /// Statements of a train section in a text of their own (`nncc --train=...`), or null. What they
  /// say takes the place of what the file's section, if there is one, says by the same name.
  const SourceFile *trainStatements = nullptr;
};

/// Null after errors, which are in `diagnostics`. The diagnostics refer to text in `sources`.
mlir::OwningOpRef<mlir::ModuleOp> importNn(mlir::MLIRContext &context, const std::string &path,
                                           SourceManager &sources, Diagnostics &diagnostics,
                                           const ImportOptions &options = {});

/// The same for text at hand; imports are relative to the folder of `source`'s path.
mlir::OwningOpRef<mlir::ModuleOp> importNn(mlir::MLIRContext &context, const SourceFile &source,
                                           SourceManager &sources, Diagnostics &diagnostics,
                                           const ImportOptions &options = {});

/// Adds training to a module with the function @infer that was not made from .nn text, as a train
/// section would: with the names of its arguments and results. False after errors.
bool addTraining(mlir::ModuleOp module, const SourceFile &statements, Diagnostics &diagnostics);

} // namespace nncc::frontend
