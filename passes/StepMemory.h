// Sizes in a training step, for the passes that weigh memory against work. Both ask for bytes at the batch that the train section
// proposes: a decision at compile time needs numbers, and a step that fits one batch is seldom run with another.
#pragma once

#include "ir/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nncc::passes {

/// A value for each named dim of a model.
class DimValues {
public:
  /// The batch of the train section for a dim that is the first of an input of `step`; for any other the least it may be.
  explicit DimValues(mlir::func::FuncOp step);
  DimValues(mlir::MLIRContext *context, llvm::StringMap<int64_t> values) : context(context), values(std::move(values)) {}

  /// Nothing on overflow, or for a dim of no known value.
  std::optional<int64_t> evaluate(nn::Dim dim) const;
  /// Bytes of a tensor in memory; INT64_MAX when they overflow.
  int64_t bytesOf(mlir::Type tensorType) const;
  /// "N = 32, T = 1"
  std::string describe() const;

private:
  mlir::MLIRContext *context;
  llvm::StringMap<int64_t> values;
};

} // namespace nncc::passes
