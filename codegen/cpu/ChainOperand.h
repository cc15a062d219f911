// Reads what an elementwise chain needs besides its root, where the emitter knows the place as a channel and an offset.
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "ir/Kernel.h"

namespace nncc::codegen {

/// Where a chain is being evaluated: `lanes` neighbouring channels of one position.
struct ChainPlace {
  mlir::RankedTensorType type; ///< what the chain's operands broadcast against
  unsigned channelDim = 1;
  mlir::Value channel;         ///< first channel
  mlir::Value element;         ///< offset of that element in a Full operand
  int64_t lanes = 1;           ///< 1 reads scalars
  mlir::Value mask;            ///< null = all lanes
};

/// The values of `operand`, a constant or a block argument of `kernel`, at `place`.
mlir::Value readChainOperand(KernelBuilder &builder, mlir::Value operand, const ChainPlace &place);

/// Loads `lanes` elements (a scalar for 1).
mlir::Value loadLanes(KernelBuilder &builder, mlir::Type element, mlir::Value pointer, int64_t lanes,
                      mlir::Value mask);

} // namespace nncc::codegen
