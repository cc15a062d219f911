// Replaces dropout by its operand: at inference it passes every element through. Takes any function but a training step, and runs
// first, so that no later pass has to look through dropout to see what stands next to what.

#include "passes/Passes.h"

namespace nncc::passes {
#define GEN_PASS_DEF_REMOVEDROPOUT
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;

namespace {

struct RemoveDropoutPass : passes::impl::RemoveDropoutBase<RemoveDropoutPass> {
  void runOnOperation() override {
    getOperation().walk([](nn::DropoutOp dropout) {
      dropout.getResult().replaceAllUsesWith(dropout.getX());
      dropout.erase();
    });
  }
};

} // namespace
