// The table of named dims that the nn dialect keeps per context.
#pragma once

#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringMap.h"

#include <mutex>
#include <vector>

namespace nncc::nn {

/// Gives each dim name of a context one symbol number.
class DimNames : public mlir::DialectInterface::Base<DimNames> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DimNames)
  explicit DimNames(mlir::Dialect *dialect) : Base(dialect) {}

  unsigned numberOf(llvm::StringRef name);
  llvm::StringRef nameOf(unsigned number) const;

private:
  mutable std::mutex mutex;
  llvm::StringMap<unsigned> numbers;
  std::vector<llvm::StringRef> names;
};

} // namespace nncc::nn
