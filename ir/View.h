// Ops that rename memory instead of moving it. Passes keep them outside kernels, and codegen/ProgramBuilder gives the result the
// operand's buffer, so the question "does this op move anything?" is answered here alone.
#pragma once

#include "ir/NN.h"

namespace nncc::nn {

/// The elements of both types lie in memory in the same sequence, given that they are the same logical tensor: the memory
/// orders agree once dimensions of extent 1 are left out.
bool sameMemory(mlir::RankedTensorType a, mlir::RankedTensorType b);

/// The elements lie in memory in row-major sequence, whatever the order says of dimensions of extent 1.
bool isRowMajorInMemory(mlir::RankedTensorType type);

/// `op` has one operand and one result, and the result is the operand's memory, or a run of it, under another type.
bool isView(mlir::Operation *op);

/// The value whose memory `value` names: follows views to what a kernel writes, the caller passes, or a parameter holds.
mlir::Value viewedValue(mlir::Value value);
/// The same through views of a whole tensor only, not through slices.
mlir::Value wholeViewedValue(mlir::Value value);
/// Where `value` begins in the memory of viewedValue, in elements.
Dim viewOffset(mlir::Value value);

} // namespace nncc::nn
