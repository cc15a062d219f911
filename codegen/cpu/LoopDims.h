// The dimensions over which an emitter loops, taken from a tensor's layout: neighbours in memory become one loop where every
// tensor that the kernel reads allows it, so that inner loops are long.
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "ir/Kernel.h"

namespace nncc::codegen {

/// One loop over a logical dimension, or over a run of them that are neighbours in memory: then `dim` is the innermost of the
/// run, and its index counts through all.
struct LoopDim {
  nn::Dim extent;
  unsigned dim = 0;
  int64_t step = 1; ///< elements of `dim` per step
};

/// Collects the tensors that `value` reads through elementwise ops and reorders; `anchor` (may be null) is taken as at hand.
/// False when another op is among them.
bool collectLeaves(mlir::Value value, mlir::Value anchor, llvm::SmallVectorImpl<mlir::RankedTensorType> &leaves);

/// True when in every leaf `inner` follows `outer` in memory without a gap, or neither dimension moves the leaf's address. Leaves
/// broadcast against `space`, and the dimensions are those of `space`.
bool canFlatten(llvm::ArrayRef<mlir::RankedTensorType> leaves, mlir::RankedTensorType space, int64_t outer, int64_t inner);

/// The loops over a tensor that is not packed, outermost in memory first; dimensions of extent 1 have none. Neighbours for which
/// `mayJoin(outer, inner)` holds become one loop.
llvm::SmallVector<LoopDim> loopsOver(mlir::RankedTensorType type, llvm::function_ref<bool(int64_t, int64_t)> mayJoin);

} // namespace nncc::codegen
