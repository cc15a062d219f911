// Learning rate schedules and the updates of parameters, as nn ops. Formulas and names are PyTorch's (torch.optim).
#pragma once

#include "passes/TrainState.h"

namespace nncc::passes {

/// The learning rate of the step at hand, f64[], from the states of TrainState.h. `schedule` may be null; `settings` is the
/// module's `nn.train`.
mlir::Value buildLearningRate(mlir::OpBuilder &builder, mlir::Location loc, TrainState &state, mlir::DictionaryAttr settings);

/// Gradients limited as `clip` says, over all groups.
void clipGradients(mlir::OpBuilder &builder, mlir::Location loc, mlir::DictionaryAttr clip,
                   llvm::MutableArrayRef<mlir::Value> gradients);

/// Parameters in one state, updated alike.
struct ParameterGroup {
  std::string state;           ///< that holds them
  std::string suffix;          ///< of the names of the states beside it: "", ".1"
  bool decays = true;          ///< by the optimizer's weight decay
  mlir::Value values, gradients;
};

/// The next value of a group's parameters; writes the optimizer's own states. `rate` is f64[].
mlir::Value buildUpdate(mlir::OpBuilder &builder, mlir::Location loc, TrainState &state, mlir::DictionaryAttr optimizer,
                        const ParameterGroup &group, mlir::Value rate);

} // namespace nncc::passes
