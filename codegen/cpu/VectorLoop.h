// Loops over a contiguous range in vectors, and their tails. One place decides how tails are done: by masks where the target has
// masked loads and stores for the element widths at hand, element by element elsewhere.
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace nncc::codegen {

/// `position` is the first element, `lanes` the number of elements side by side (1 in a scalar tail), `mask` is null for all.
using VectorBody = llvm::function_ref<void(mlir::Value position, int64_t lanes, mlir::Value mask)>;

/// Runs `body` over [begin, end) in vectors of `lanes` elements. `elementBits` is the narrowest element that is loaded or stored.
void vectorLoop(KernelBuilder &b, mlir::Value begin, mlir::Value end, int64_t lanes, unsigned elementBits,
                VectorBody body);

/// True for the first min(rest, lanes) lanes.
mlir::Value tailMask(KernelBuilder &b, mlir::Value rest, int64_t lanes);

} // namespace nncc::codegen
