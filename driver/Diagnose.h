// MLIR's diagnostics as the text of a nncc::Error: file:line:column, message, the source line and a
// caret, as the frontend renders its own.
#pragma once

#include "support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace nncc::driver {

/// Collects what the context reports while it lives.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext &context)
      : stream(text), handler(sources, &context, stream) {}

  llvm::SourceMgr &sourceManager() { return sources; }

  /// The collected text as an error of `kind`; `fallback` when a stage failed in silence.
  Error take(ErrorKind kind, std::string fallback);

private:
  std::string text;
  llvm::raw_string_ostream stream;
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler;
};

/// A failure that nothing in the model explains.
Error asInternalError(llvm::Error error);

} // namespace nncc::driver
