// Softmax and the normalisations as loops: which dimensions of the input belong to a group that is taken together, and what
// distinguishes the norms. The emitters of all targets ask here.
#pragma once

#include "codegen/LoopDims.h"

namespace nncc::codegen {

/// True when the kernel's results all have the logical type of the anchor's input but for the element type; reports otherwise.
llvm::LogicalResult checkRowResults(nn::KernelOp kernel, mlir::Operation *anchor);

/// The loops over the kernel's first result; dimensions join when both or neither of them `isSwept`, neither is `apart`, and the
/// tensors that are read (`aligned` too) allow it.
llvm::SmallVector<LoopDim> rowLoops(nn::KernelOp kernel, mlir::Operation *anchor, mlir::ValueRange aligned,
                                    llvm::function_ref<bool(int64_t)> isSwept, std::optional<int64_t> apart = {});

/// What distinguishes the norms.
struct Norm {
  mlir::Value scale, bias;
  double epsilon = 0;
  bool centres = true;     ///< subtracts the mean
  int64_t firstDim = 0;    ///< dimensions from here on belong to a group
  int64_t groups = 0;      ///< runs of channels that form a group with the later dimensions; 0 = no
  bool perChannel = false; ///< scale and bias have one entry per dimension 1; else the shape of the last dimensions
};
Norm readNorm(mlir::Operation *anchor);

/// Loops of which some walk through a group.
struct SweptLoops {
  llvm::SmallVector<LoopDim> loops;
  llvm::SmallVector<bool> isSwept;
};
SweptLoops normLoops(nn::KernelOp kernel, mlir::Operation *anchor, const Norm &norm);

} // namespace nncc::codegen
