// The recipe: one line per step with the reason for its place.

#include "passes/Pipeline.h"
#include "passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace nncc;

void passes::buildPipeline(OpPassManager &pm, const Packing &sizes, int64_t memoryBudgetBytes) {
  // Training first: what it adds is made of nn ops, and all that follows treats it as any others.
  pm.addPass(createBuildTrainStep());
  // Before batch statistics, which then are f32 ones of what the norms read, and before gradients, which come in the precision of the
  // values that they belong to.
  pm.addPass(createApplyMixedPrecision());
  // Before gradients, which are those of the ops as training means them.
  pm.addPass(createApplyTrainingMode());
  pm.addNestedPass<func::FuncOp>(createExpandGradients());
  // Outside of training a dropout does nothing; whatever stood around it meets now.
  pm.addNestedPass<func::FuncOp>(createRemoveDropout());
  // Simplify next: what folds away needs no layout and no kernel.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());

  // Before layouts and packing, which then see the final weights.
  pm.addNestedPass<func::FuncOp>(createFoldBatchNorm());
  // Behind batch norms, which scale a kernel as it is; before all that treats convolutions.
  pm.addNestedPass<func::FuncOp>(createLowerConvTranspose());
  // Leaves matrix products that take part in all that follows.
  DecomposeOpsOptions decomposition;
  decomposition.multipliesTransposed = sizes.multipliesTransposed;
  decomposition.multipliesTransposedHalves = sizes.multipliesTransposedHalves;
  pm.addNestedPass<func::FuncOp>(createDecomposeOps(decomposition));

  // Layouts before packing and fusion, which both depend on the memory order of what flows between ops.
  pm.addNestedPass<func::FuncOp>(createAssignLayouts());
  // Right behind: it looks for the reorders that flatten made necessary.
  pm.addNestedPass<func::FuncOp>(createFoldFlatten());
  // Reorders that meet cancel; equal ones are shared.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());

  // Packing before outlining: the packed weights are what moves to @prepare.
  PackWeightsOptions packing;
  packing.columns = sizes.columns;
  packing.lanes = sizes.lanes;
  pm.addNestedPass<func::FuncOp>(createPackWeights(packing));
  // Outlining before kernels form, so that no kernel mixes what runs once with what runs always.
  pm.addPass(createOutlinePrepare());
  // Kernels last: from here on ops have an order of execution and their results have buffers.
  pm.addNestedPass<func::FuncOp>(createFormKernels());
  // Behind kernels, which say what can be computed where it is read, and behind the last CSE, which would undo it.
  pm.addNestedPass<func::FuncOp>(createRecomputeValues());
  // What is left of small kernels starts together.
  pm.addNestedPass<func::FuncOp>(createMergeKernels());
  // Behind kernels, which alone have results to place, and before buffers, which the parts then share.
  pm.addNestedPass<func::FuncOp>(createPlaceConcats());
  // Behind all that decides what kernels there are; it runs some of them again.
  pm.addNestedPass<func::FuncOp>(createFitMemoryBudget({memoryBudgetBytes}));
  // Behind all that moves kernels, before buffers: it may add readers.
  pm.addNestedPass<func::FuncOp>(createPlaceStates());
  // Buffers behind kernels: which tensors exist at all, and who reads them last, is known only now.
  pm.addNestedPass<func::FuncOp>(createPlanBuffers());
}

namespace {

struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<int64_t> columns{*this, "columns", llvm::cl::desc("Widest weight panel, in f32 columns"),
                          llvm::cl::init(passes::Packing().columns)};
  Option<int64_t> lanes{*this, "lanes", llvm::cl::desc("f32 elements of a vector register"),
                        llvm::cl::init(passes::Packing().lanes)};
  Option<int64_t> memoryBudget{*this, "memory-budget", llvm::cl::desc("Bytes of the arena of a training step; 0: any"),
                               llvm::cl::init(0)};
};

} // namespace

void passes::registerPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "nncc-cpu-pipeline", "From nn ops to kernels for the CPU",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildPipeline(pm, {options.columns, options.lanes, true}, options.memoryBudget);
      });
}
