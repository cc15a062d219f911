// Diagnostics as errors; see Diagnose.h.

#include "driver/Diagnose.h"

using namespace nncc;

Error driver::DiagnosticText::take(ErrorKind kind, std::string fallback) {
  llvm::StringRef collected = llvm::StringRef(text).trim();
  return collected.empty() ? Error{ErrorKind::Internal, std::move(fallback)}
                           : Error{kind, collected.str()};
}

Error driver::asInternalError(llvm::Error error) {
  return {ErrorKind::Internal, llvm::toString(std::move(error))};
}
