// The register-tiled heart of convolutions and matrix products: a noinline function that multiplies a few rows, given by
// pointers, with one packed weight panel and writes the finished tile.
//
//   out[r, c] = chain( sum over taps t, run k of  table[t][r][k] * panel[t][k][c] )     r < rows, c < vectors * lanes
//
// Every shape is a run-time argument, so one function serves all layers with the same fused epilogue. It stays a function of its
// own, since LLVM spills accumulators as soon as other code shares their registers.
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "ir/Kernel.h"

namespace nncc::codegen {

struct MicroKernelSpec {
  int64_t rows = 0;          ///< M of the tile
  int64_t vectors = 0;       ///< vector registers per row
  bool masked = false;       ///< only the first `valid` columns are stored
  bool hasBias = false;      ///< accumulators start at the bias instead of zero
  mlir::Type element;        ///< element type of rows, panel and result
  mlir::Type stored;         ///< element type of the stored tile
  const nn::Chain *chain = nullptr;
  mlir::RankedTensorType chainType; ///< the type that the chain's operands broadcast against
  unsigned channelDim = 1;
};

/// Accumulation type of a contraction over `element`: f32 for f16 and bf16.
mlir::Type accumulatorType(mlir::Type element);

/// Arguments of a call, in the order of the function's parameters.
struct MicroKernelArgs {
  mlir::Value table;       ///< pointers to rows: [taps][tableStride]
  mlir::Value tableStride; ///< rows in the table
  mlir::Value taps;
  mlir::Value run;         ///< contiguous elements per tap
  mlir::Value panel;       ///< [taps][run][vectors * lanes]
  mlir::Value bias;        ///< first bias of the tile, null without hasBias
  mlir::Value out;         ///< first element of the tile
  mlir::Value outStride;   ///< elements between rows of the tile
  mlir::Value fullStride;  ///< elements between rows of the chain's Full operands
  mlir::Value valid;       ///< columns to store (masked)
  llvm::SmallVector<mlir::Value> operands; ///< one pointer per non-constant chain operand, at this tile
};

/// Calls the micro-kernel for `spec`, creating the function when the module does not have it yet.
void callMicroKernel(KernelBuilder &builder, const MicroKernelSpec &spec, const MicroKernelArgs &args);

/// Non-constant operands of the chain, in the order in which a call passes them.
llvm::SmallVector<mlir::Value> pointerOperands(const nn::Chain &chain);

} // namespace nncc::codegen
