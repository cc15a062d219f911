// What an op costs, in one place for kernel profiles, --emit=summary and the report: floating-point operations, a multiply-add
// counting as two, and bytes in memory.
#pragma once

#include "ir/NN.h"

namespace nncc::nn {

/// Useful floating-point operations of `op`, or of all ops in its body for a kernel; a null Dim when the count overflows.
/// An elementwise op counts one per element whatever its formula, and an op that only moves data counts nothing.
Dim flopsOf(mlir::Operation *op);

/// Bytes of the tensor in memory, a packed layout's padding included; a null Dim when they overflow.
Dim sizeBytesOf(mlir::RankedTensorType type);

/// Bytes that a kernel reads and writes: of operands and results of which it uses slices, those; a null Dim when they overflow.
Dim trafficBytesOf(KernelOp kernel);

} // namespace nncc::nn
