// The register-tiled heart of products whose left operand is read down its columns, as in gradients of weights: a noinline function
// that adds, position by position, the product of a few numbers of the left operand with one row of a panel.
//
//   sums[r, c] += sum over positions k of  left[rowOffsets[r] + steps[k]] * panel[k][c]     r < rows, c < vectors * lanes
//
// Its sister (MicroKernel.h) wants the contracted index contiguous in the left operand; here the rows are, and the contracted index
// goes where `steps` leads. It stays a function of its own for the same reason.
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace nncc::codegen {

struct OuterProductSpec {
  int64_t rows = 0;    ///< of the tile
  int64_t vectors = 0; ///< vector registers per row
  mlir::Type element;  ///< of left, panel and sums: f32 or f64
};

/// Arguments of a call, in the order of the function's parameters.
struct OuterProductArgs {
  mlir::Value left;
  mlir::Value rowOffsets; ///< i64 elements, one per row
  mlir::Value steps;      ///< i64 elements, one per position
  mlir::Value positions;
  mlir::Value panel;      ///< [positions][vectors * lanes]
  mlir::Value sums;       ///< [rows][vectors * lanes]
};

/// Calls the function for `spec`, creating it when the module does not have it yet.
void callOuterProduct(KernelBuilder &builder, const OuterProductSpec &spec, const OuterProductArgs &args);

} // namespace nncc::codegen
