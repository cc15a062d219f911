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
  // A copy: its body hands operands on.
  if (!anchor)
    return emitElementwise(builder, kernel, symbol);
  return llvm::TypeSwitch<Operation *, FailureOr<EmittedKernel>>(anchor)
      .Case<nn::ConvOp>([&](nn::ConvOp conv) {
        return nn::isDepthwise(conv) ? emitDepthwiseConv(builder, kernel, symbol)
                                     : emitConv(builder, kernel, symbol);
      })
      .Case<nn::MatmulOp>([&](nn::MatmulOp matmul) {
        return matmul.getTransposeLhs() ? emitTransposedMatmul(builder, kernel, symbol)
                                        : emitMatmul(builder, kernel, symbol);
      })
      .Case<nn::ConvWeightGradientOp>([&](auto) { return emitConvWeightGradient(builder, kernel, symbol); })
      .Case<nn::ConvTransposeOp>([&](auto) { return emitConvTranspose(builder, kernel, symbol); })
      .Case<nn::MaxPoolOp, nn::AvgPoolOp, nn::AdaptiveMaxPoolOp, nn::AdaptiveAvgPoolOp>(
          [&](auto) { return emitPool(builder, kernel, symbol); })
      .Case<nn::RecurrenceOp, nn::RnnOp, nn::LstmOp, nn::GruOp>(
          [&](auto) { return emitRecurrence(builder, kernel, symbol); })
      .Case<nn::AttentionOp>([&](auto) { return emitAttention(builder, kernel, symbol); })
      .Case<nn::GatherGradientOp>([&](auto) { return emitGatherGradient(builder, kernel, symbol); })
      .Case<nn::LinearScanOp>([&](auto) { return emitLinearScan(builder, kernel, symbol); })
      .Case<nn::RecurrenceGradientOp>([&](auto) { return emitRecurrenceGradient(builder, kernel, symbol); })
      .Case<nn::ReductionOpInterface>([&](auto) { return emitReduction(builder, kernel, symbol); })
      .Case<nn::SoftmaxOp, nn::LogSoftmaxOp>([&](auto) { return emitSoftmax(builder, kernel, symbol); })
      .Case<nn::LayerNormOp, nn::RmsNormOp, nn::GroupNormOp, nn::InstanceNormOp>(
          [&](auto) { return emitNormalisation(builder, kernel, symbol); })
      .Case<nn::ElementwiseOpInterface, nn::MovementOpInterface>([&](auto) -> FailureOr<EmittedKernel> {
        if (std::optional<EmittedKernel> packed = emitPackPanels(builder, kernel, symbol))
          return *packed;
        return emitElementwise(builder, kernel, symbol);
      })
      .Default([&](Operation *op) -> FailureOr<EmittedKernel> {
        return kernel.emitOpError("has the anchor ") << op->getName() << ", for which there is no CPU emitter";
      });
}
