// Transcendental functions of the math dialect become arithmetic that vectorises, instead of a call into libm for every lane.
//
//   takes   exp, expm1, log, log1p, tanh, erf, sin, cos, tan of f32, scalars or vectors; of f16 and bf16 by way of f32
//   leaves  arith ops and multiply-adds; the rest (f64, pow) as it is, for libm
//
// Stands right before the conversions to LLVM: until then a formula is one op that folds, hoists and prints as what it is.
#pragma once

#include "mlir/Pass/Pass.h"

namespace nncc::codegen {

/// The pass `expand-math` on a module.
std::unique_ptr<mlir::Pass> createExpandMathPass();

} // namespace nncc::codegen
