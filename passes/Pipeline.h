// The recipe from a frontend's module to kernels, as one function that nncc, the JIT and nncc-opt share.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace nncc::passes {

/// What the pipeline needs to know of the target; the defaults are AVX2's.
struct Packing {
  int64_t columns = 16; ///< of the widest weight panel, in f32
  int64_t lanes = 8;    ///< f32 elements of a vector
  /// Kernels read a left operand down its columns (nn::multipliesTransposed), so that gradients of weights need no transposes.
  bool multipliesTransposed = true;
  /// Those of f16 and bf16 as well.
  bool multipliesTransposedHalves = false;
};

/// From logical, row-major nn ops to @prepare and @infer made of kernels and views. With a budget, a training step's intermediates
/// take at most so many bytes.
void buildPipeline(mlir::OpPassManager &pm, const Packing &packing, int64_t memoryBudgetBytes = 0);

/// Registers the pipeline by name: `nncc-opt --nncc-cpu-pipeline`.
void registerPipelines();

} // namespace nncc::passes
