// Result-type rules that several op families share.
#pragma once

#include "ir/NN.h"

namespace nncc::nn {

/// The logical type without a memory order: what inference returns.
inline mlir::RankedTensorType logicalType(mlir::Type type) {
  return withOrder(llvm::cast<mlir::RankedTensorType>(type), {});
}

/// The first operand's type, its memory order included: an op of one operand writes where and as it reads, and its assembly
/// names one type for both.
mlir::LogicalResult inferSameType(std::optional<mlir::Location> loc, mlir::ValueRange operands,
                                  llvm::SmallVectorImpl<mlir::Type> &types);

/// All operands broadcast (broadcast_c1, broadcast_c2); `element` replaces the operands' element
/// type in the result.
mlir::LogicalResult inferBroadcastType(std::optional<mlir::Location> loc, mlir::ValueRange operands,
                                       llvm::SmallVectorImpl<mlir::Type> &types,
                                       mlir::Type element = {});

/// As inferBroadcastType, with bool elements.
mlir::LogicalResult inferComparisonType(std::optional<mlir::Location> loc,
                                        mlir::ValueRange operands,
                                        llvm::SmallVectorImpl<mlir::Type> &types);

/// Appends the type of these dimensions, reporting a size over 2^63 - 1.
mlir::LogicalResult appendType(std::optional<mlir::Location> loc, llvm::ArrayRef<Dim> shape,
                               mlir::Type element, llvm::SmallVectorImpl<mlir::Type> &types);

/// What the verifier finds wrong with `op`; nothing when it is valid. For ops that are defined by another one, which is built on
/// operands that nothing computes.
std::optional<std::string> whyInvalid(mlir::Operation *op);

/// The windows of an op with kernel, strides, dilations and pads, one per spatial dimension;
/// reports arrays of the wrong length or with values out of range under the constraint `name`.
llvm::FailureOr<llvm::SmallVector<WindowDim>>
windowsOf(std::optional<mlir::Location> loc, llvm::StringRef name, size_t spatialRank,
          llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> strides,
          llvm::ArrayRef<int64_t> dilations, llvm::ArrayRef<int64_t> padsBegin,
          llvm::ArrayRef<int64_t> padsEnd, bool ceilMode = false);

} // namespace nncc::nn
