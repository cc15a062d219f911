// The dimensions over which an emitter loops, taken from a tensor's layout: neighbours in memory become one loop where every
// tensor that the kernel reads allows it, so that inner loops are long.
#pragma once

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

/// True when `op` is a movement and vectors along `laneDim` of its result are vectors or single elements of its operands.
bool movesLanes(mlir::Operation *op, int laneDim);
/// The dimension of an operand of a movement along which those vectors lie; -1 for a single element.
int operandLane(mlir::Operation *op, unsigned operand, int laneDim);
/// `dim` has stride 1.
bool isInnermost(mlir::RankedTensorType type, int dim);
/// True when vectors along `laneDim` of `value` come from memory as vectors or single elements. `known` answers for values that the
/// caller reads in a way of its own.
bool readsContiguously(mlir::Value value, int laneDim,
                       llvm::function_ref<std::optional<bool>(mlir::Value, int)> known = {});

/// The loops over a tensor that is not packed, outermost in memory first; dimensions of extent 1 have none. Neighbours for which
/// `mayJoin(outer, inner)` holds become one loop.
llvm::SmallVector<LoopDim> loopsOver(mlir::RankedTensorType type, llvm::function_ref<bool(int64_t, int64_t)> mayJoin);

} // namespace nncc::codegen
