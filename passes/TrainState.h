// What @train_step keeps from one step to the next: arguments and results marked `nn.state`, and the module's nn.state ops.
#pragma once

#include "ir/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nncc::passes {

/// States that several passes know.
inline constexpr llvm::StringLiteral kStepState = "train.step";                   ///< i64: updates made
inline constexpr llvm::StringLiteral kSkippedState = "train.skipped";             ///< i64: updates left out (LossScale.h)
inline constexpr llvm::StringLiteral kLossScaleState = "train.loss_scale";        ///< f32
/// i64: updates since the loss scale changed, PyTorch's `_growth_tracker`.
inline constexpr llvm::StringLiteral kGrowthTrackerState = "train.growth_tracker";
/// i64: batches since the last update, where several make one.
inline constexpr llvm::StringLiteral kMicroStepState = "train.micro_step";
inline constexpr llvm::StringLiteral kSeedState = "train.seed";                   ///< i64
inline constexpr llvm::StringLiteral kLearningRateState = "train.lr";             ///< f64: before the schedule
inline constexpr llvm::StringLiteral kEpochsState = "train.epochs";               ///< f64: of the whole training
inline constexpr llvm::StringLiteral kStepsPerEpochState = "train.steps_per_epoch"; ///< f64

/// On an nn.get_parameter of @train_step, between the passes that build it: a running statistic that the train section freezes.
inline constexpr llvm::StringLiteral kFrozenAttr = "nn.frozen";

class TrainState {
public:
  explicit TrainState(mlir::func::FuncOp step) : step(step), module(step->getParentOfType<mlir::ModuleOp>()) {}

  /// The value of a state at the start of the step. The state is added to the module, starting as `init`, when it has none of
  /// this name.
  mlir::Value read(llvm::StringRef name, mlir::RankedTensorType type, double init = 0.0);
  /// One number of type `element`.
  mlir::Value readNumber(llvm::StringRef name, mlir::Type element, double init = 0.0) {
    return read(name, mlir::RankedTensorType::get({}, element), init);
  }
  /// The memory of these parameters, one behind the other.
  mlir::Value readParameters(llvm::StringRef name, mlir::RankedTensorType type, llvm::ArrayRef<mlir::StringAttr> parts);
  /// One element for each of the state `parameters`.
  mlir::Value readLike(llvm::StringRef name, llvm::StringRef parameters, double init = 0.0);
  /// A parameter that the step changes by itself.
  mlir::Value readParameter(mlir::StringAttr name, mlir::RankedTensorType type) { return argument(name.getValue(), type); }

  /// From here on write() leaves states as they are unless `condition`, a bool[], holds too.
  void writeOnlyIf(mlir::Value condition);

  /// The value of a state at the end of the step, which its caller has read.
  void write(llvm::StringRef name, mlir::Value value);

private:
  mlir::Value argument(llvm::StringRef name, mlir::RankedTensorType type);
  nn::StateOp declare(llvm::StringRef name, mlir::RankedTensorType type);

  mlir::func::FuncOp step;
  mlir::ModuleOp module;
  mlir::Value isWritten; ///< null: always
};

/// Calls of @train_step so far, as a number i64[]: those that made no update, or left one out, count too. `settings` is the module's `nn.train`, or null.
mlir::Value readCallCount(mlir::OpBuilder &builder, mlir::Location loc, TrainState &state, mlir::DictionaryAttr settings);
/// How many batches make an update.
int64_t batchesPerUpdate(mlir::DictionaryAttr settings);

} // namespace nncc::passes
