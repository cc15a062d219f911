// Factories and registration of the passes that Passes.td defines, and the pipelines built from them.
#pragma once

#include "ir/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace nncc::passes {

/// Entry points of a model module.
inline constexpr llvm::StringLiteral kInferFunction = "infer";
inline constexpr llvm::StringLiteral kPrepareFunction = "prepare";
/// The loss and the metrics of a batch, as inference computes them.
inline constexpr llvm::StringLiteral kEvaluateFunction = "evaluate";
/// The same as training computes them, with the update of all parameters.
inline constexpr llvm::StringLiteral kTrainStepFunction = "train_step";
/// On a result of @prepare and an argument of @infer: the name of the constant that leads from one to the other.
inline constexpr llvm::StringLiteral kConstantAttr = "nn.constant";
/// On an nn.conv that does a transposed convolution with a stride: `kernel`, `strides` and `pads` of that one, an i64 array each. Its
/// output channels are [group][residue by the strides][channel], and the result has as many positions as they make.
inline constexpr llvm::StringLiteral kTransposedAttr = "nn.transposed";
/// Names of locations (NameLoc) around those of ops that belong to the backward pass or to the update of a training step.
inline constexpr llvm::StringLiteral kBackwardLocation = "backward", kUpdateLocation = "update";
/// On @train_step: bytes that its arena would take without a memory budget.
inline constexpr llvm::StringLiteral kUnlimitedBytesAttr = "nn.unlimited_bytes";
/// On a kernel that computes again what was dropped.
inline constexpr llvm::StringLiteral kRecomputedAttr = "nn.recomputed";

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace nncc::passes
