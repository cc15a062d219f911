// Movements that only rename places in memory: the result is the operand's memory under other strides and an offset. Passes ask
// here whether a slice or a transpose need be carried out at all, and the code generators address memory by the answer.
#pragma once

#include "ir/NN.h"

#include <optional>

namespace nncc::nn {

/// A tensor as elements of the memory of `source`: index i lies at offset + sum of i[d] * strides[d] elements.
struct StridedView {
  mlir::Value source;
  Dim offset;
  llvm::SmallVector<Dim> strides; ///< elements, one per logical dimension
};

/// Elements between neighbours along each logical dimension. Not for packed layouts.
llvm::SmallVector<Dim> stridesOf(mlir::RankedTensorType type);

/// `tensor` as a view of the first value up its chain of slices, transposes, reshapes and reorders for whose op `seesThrough` does
/// not hold. Nothing when one of the ops that are seen through moves elements in a way that strides cannot say, or when the memory
/// is packed.
std::optional<StridedView> stridedViewOf(mlir::Value tensor, llvm::function_ref<bool(mlir::Operation *)> seesThrough);
/// Through all such ops.
std::optional<StridedView> stridedViewOf(mlir::Value tensor);

/// The ops that stridedViewOf may see through.
bool isStridedMovement(mlir::Operation *op);

/// Strides of the same elements, in row-major order of the logical dimensions, under the shape `to`; nothing when dimensions that
/// become one do not follow each other without a gap.
std::optional<llvm::SmallVector<Dim>> reshapeStrides(llvm::ArrayRef<Dim> strides, llvm::ArrayRef<Dim> from,
                                                     llvm::ArrayRef<Dim> to, mlir::MLIRContext *context);

/// Runs of neighbouring dimensions of two shapes that hold equally many elements.
struct ReshapeGroup {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
  bool isOneDim() const { return fromEnd - fromBegin == 1 && toEnd - toBegin == 1; }
};
/// The smallest such runs, in order: a reshape takes an index apart and puts it together within its run only.
llvm::SmallVector<ReshapeGroup> reshapeGroups(llvm::ArrayRef<Dim> from, llvm::ArrayRef<Dim> to, mlir::MLIRContext *context);

} // namespace nncc::nn
