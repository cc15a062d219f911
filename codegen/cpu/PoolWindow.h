// One window of a max or average pool, on vectors of channels. It stands apart from the pool kernel since convolutions fuse a
// pool behind their epilogue and reduce the same window over values that are still in scratch memory.
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace nncc::codegen {

/// Gives the values at a spatial position of the pool's input.
using PoolLoader = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange position)>;

/// Reduces the window of `pool` (nn.max_pool, nn.avg_pool or an adaptive one) that ends up at the spatial position `output`. `load` returns one
/// value of each of `types` (scalars or vectors), and is asked for positions inside `inputExtents` only: at the borders the
/// loops over the window are shorter. The results have the same types.
llvm::SmallVector<mlir::Value> emitPoolWindow(KernelBuilder &b, mlir::Operation *pool, mlir::ValueRange output,
                                              mlir::ValueRange inputExtents, mlir::TypeRange types,
                                              PoolLoader load);

} // namespace nncc::codegen
