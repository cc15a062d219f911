// Covers a block of rows x columns of a contraction with micro-kernel tiles: panels of columns outermost, so that a panel stays
// in the cache while the rows of the block pass by.
#pragma once

#include "codegen/cpu/MicroKernel.h"

namespace nncc::codegen {

/// Rows of a block are cut into tiles of nearly equal height instead of full tiles and a rest: 49 rows are 4 x 6 + 5 x 5, and
/// every tile keeps the FMA units busy. This gives the heights that occur for these block heights, largest first.
llvm::SmallVector<int64_t> tileHeights(llvm::ArrayRef<int64_t> blockRows, int64_t maxRows);

struct TileBlock {
  mlir::Value table;        ///< row pointers, [taps][tableStride]
  mlir::Value tableStride;
  mlir::Value taps, run;
  mlir::Value rows;         ///< rows of the block
  llvm::SmallVector<int64_t> heights; ///< tile heights that can occur

  mlir::Value panels;       ///< first panel of this group or batch
  mlir::Value beginPanel, endPanel;
  mlir::Value columns;      ///< columns of the group or batch in all

  mlir::Value bias;         ///< first bias of the group, null without one

  /// Pointer to where a tile is stored, given its first row within the block and its first column.
  std::function<mlir::Value(mlir::Value row, mlir::Value column)> outAt;
  mlir::Value outStride;
  /// Pointer to a chain operand at a tile.
  std::function<mlir::Value(mlir::Value operand, mlir::Value row, mlir::Value column)> operandAt;
  mlir::Value fullStride;
};

/// Emits the loops over panels and tiles. `spec` gives element types and chain; rows and masking are chosen here.
void emitTiles(KernelBuilder &builder, MicroKernelSpec spec, const TileBlock &block);

} // namespace nncc::codegen
