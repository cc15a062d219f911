// The recipe from a frontend's module to kernels, as one function that nncc, the JIT and nncc-opt share.
#pragma once

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace nncc::passes {

/// What the pipeline needs to know of the CPU; the defaults are AVX2's.
struct CpuPipelineOptions : mlir::PassPipelineOptions<CpuPipelineOptions> {
  Option<int64_t> columns{*this, "columns", llvm::cl::desc("Widest weight panel, in f32 columns"),
                          llvm::cl::init(16)};
  Option<int64_t> lanes{*this, "lanes", llvm::cl::desc("f32 elements of a vector register"),
                        llvm::cl::init(8)};
};

/// From logical, row-major nn ops to @prepare and @infer made of kernels and views.
void buildCpuPipeline(mlir::OpPassManager &pm, const CpuPipelineOptions &options);

/// Registers the pipelines by name: `nncc-opt --nncc-cpu-pipeline`.
void registerPipelines();

} // namespace nncc::passes
