// Hands each kernel to the emitter of its anchor; see EmitKernel.h.

#include "codegen/cpu/EmitKernel.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

FailureOr<EmittedKernel> codegen::emitKernel(nn::KernelOp kernel, StringRef symbol, ModuleOp module,
                                             const CpuTarget &target) {
  KernelBuilder builder(kernel.getLoc(), OpBuilder(module.getContext()), target, module);
  Operation *anchor = nn::anchorOf(kernel);
  if (!anchor)
    return kernel.emitOpError("has an empty body");
  return llvm::TypeSwitch<Operation *, FailureOr<EmittedKernel>>(anchor)
      .Case<nn::ConvOp>([&](nn::ConvOp conv) {
        return nn::isDepthwise(conv) ? emitDepthwiseConv(builder, kernel, symbol)
                                     : emitConv(builder, kernel, symbol);
      })
      .Case<nn::MatmulOp>([&](auto) { return emitMatmul(builder, kernel, symbol); })
      .Case<nn::MaxPoolOp, nn::AvgPoolOp>([&](auto) { return emitPool(builder, kernel, symbol); })
      .Default([&](Operation *op) -> FailureOr<EmittedKernel> {
        return kernel.emitOpError("has the anchor ") << op->getName() << ", for which there is no CPU emitter";
      });
}
