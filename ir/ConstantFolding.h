// Folding of nn ops whose operands are small constants, by evaluating their own formula.
#pragma once

#include "mlir/Interfaces/FoldInterfaces.h"

namespace nncc::nn {

/// Folds elementwise ops over constant operands, when no fold of the op itself applies.
class ConstantFolding : public mlir::DialectFoldInterface {
public:
  using DialectFoldInterface::DialectFoldInterface;

  mlir::LogicalResult fold(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                           llvm::SmallVectorImpl<mlir::OpFoldResult> &results) const override;
};

} // namespace nncc::nn
