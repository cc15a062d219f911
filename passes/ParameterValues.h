// Which values are known before the model runs: parameters, constants and what is computed from them alone. The passes that
// prepare weights share this question.
#pragma once

#include "ir/NN.h"

namespace nncc::passes {

class ParameterValues {
public:
  /// `value` depends on nothing but parameters and constants.
  bool contains(mlir::Value value);

private:
  llvm::DenseMap<mlir::Operation *, bool> known;
};

/// A constant that the kernels of its readers have in their code: one number, for elementwise ops.
bool isHeldInCode(nn::ConstantOp constant);

} // namespace nncc::passes
