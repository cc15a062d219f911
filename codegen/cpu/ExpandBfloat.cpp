// f32 to bf16 and back by integer arithmetic; see ExpandBfloat.h.

#include "codegen/cpu/ExpandBfloat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace {

struct ExpandBfloat : PassWrapper<ExpandBfloat, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandBfloat)
  StringRef getArgument() const override { return "expand-bfloat"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addDynamicallyLegalOp<arith::TruncFOp>(
        [](arith::TruncFOp op) { return !getElementTypeOrSelf(op.getOut().getType()).isBF16(); });
    target.addDynamicallyLegalOp<arith::ExtFOp>(
        [](arith::ExtFOp op) { return !getElementTypeOrSelf(op.getIn().getType()).isBF16(); });
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> nncc::codegen::createExpandBfloatPass() {
  return std::make_unique<ExpandBfloat>();
}
