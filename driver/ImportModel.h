// The first stage: a model's text, or IR text, to a module of the nn dialect.
#pragma once

#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nncc::driver {

struct ModelSource {
  std::string path;                ///< what messages name and imports are relative to
  std::optional<std::string> text; ///< instead of the file's contents
  std::vector<std::pair<std::string, int64_t>> fixedDims; ///< --dim batch=8
  bool training = false; ///< keep what the train section says
  /// Statements of a train section as --train takes them: text, or @FILE with the text. What they say
  /// takes the place of what the model's own section says. Not empty: for training.
  std::string trainStatements;
  int64_t batch = 0;     ///< instead of the train section's; 0: that one
  bool color = false;                                     ///< ANSI colours in messages
};

/// A context that knows every dialect of a compilation.
std::unique_ptr<mlir::MLIRContext> createContext();

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string warnings; ///< rendered
};

/// What messages call the text of ModelSource::trainStatements.
inline constexpr const char *kTrainOption = "--train";

/// A path that ends in .mlir holds IR, any other the .nn language.
Result<ImportedModel> importModel(mlir::MLIRContext &context, const ModelSource &source);

/// The text in canonical form: what --emit=nn prints.
Result<std::string> formatModel(const ModelSource &source);

} // namespace nncc::driver
