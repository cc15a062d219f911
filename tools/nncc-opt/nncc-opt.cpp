// nncc-opt: runs single passes and pipelines on IR text, for lit tests and for people. All flags are MLIR's stock ones plus the
// project's passes.

#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/gradients/Gradients.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<nncc::nn::NNDialect, mlir::func::FuncDialect>();
  nncc::passes::registerGradients(registry);
  mlir::registerTransformsPasses();
  nncc::passes::registerNNCCPasses();
  nncc::passes::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "nncc optimizer driver\n", registry));
}
