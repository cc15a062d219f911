// Derivatives of scalar formulas, made from the formulas themselves: reverse accumulation over the arith and math ops that an
// op's buildScalar leaves.
#pragma once

#include "ir/NN.h"

namespace nncc::nn {

/// The derivative of `op`'s formula by operand number `wrt`, times `resultGradient`. `operands` and `resultGradient` are scalars,
/// or vectors of equal length, as buildScalar takes and gives them. The value of the formula itself is computed where the
/// derivative needs it, and nowhere else.
mlir::Value buildDerivative(mlir::OpBuilder &builder, mlir::Location loc, ElementwiseOpInterface op,
                            mlir::ValueRange operands, unsigned wrt, mlir::Value resultGradient);

} // namespace nncc::nn
