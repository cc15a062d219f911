// Gradients that f16 can hold: the loss is multiplied before the way back, and the gradients are divided before they are used. An update
// whose gradients are not all finite is left out, and a dynamic scale adapts. Formulas and states are those of PyTorch's GradScaler.
#pragma once

#include "passes/TrainState.h"

#include <optional>

namespace nncc::passes {

class LossScale {
public:
  /// What `precision` and `loss_scale` of the module's `nn.train` ask for; nothing where gradients need no scale.
  static std::optional<LossScale> of(mlir::DictionaryAttr settings);

  /// The gradient of the scaled loss by the loss, in its type.
  mlir::Value seed(mlir::OpBuilder &builder, mlir::Location loc, TrainState &state, mlir::RankedTensorType lossType) const;
  /// bool[]: whether all numbers of `gradients` are finite.
  mlir::Value areFinite(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<mlir::Value> gradients) const;
  /// Divides by the scale.
  void unscale(mlir::OpBuilder &builder, mlir::Location loc, TrainState &state, llvm::MutableArrayRef<mlir::Value> gradients) const;
  /// Writes the scale of the next update, and counts this one where it is left out.
  void update(mlir::OpBuilder &builder, mlir::Location loc, TrainState &state, mlir::Value areFinite) const;

private:
  mlir::Value read(mlir::OpBuilder &builder, mlir::Location loc, TrainState &state) const;

  bool isDynamic = true;
  double init = 65536.0, growth = 2.0, backoff = 0.5;
  int64_t interval = 2000;
};

} // namespace nncc::passes
