// Hands each kernel to the emitter of its anchor; see EmitKernel.h.

#include "codegen/cuda/EmitKernel.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

FailureOr<EmittedKernel> cuda::emitKernel(nn::KernelOp kernel, StringRef symbol, ModuleOp module, bool isAligned,
                                          const CudaOptions &options) {
  KernelCode code(kernel, symbol, module, options);
  auto emitOnDemand = [&]() -> FailureOr<EmittedKernel> {
    FailureOr<EmittedKernel> emitted = emitElementwise(code, isAligned);
    if (failed(emitted) || !code.hasConditionalVector())
      return emitted;
    KernelCode again(kernel, symbol, module, options);
    return emitElementwise(again, /*isAligned=*/false);
  };
  Operation *anchor = nn::anchorOf(kernel);
  // A copy: its body hands operands on.
  if (!anchor)
    return emitOnDemand();
  return llvm::TypeSwitch<Operation *, FailureOr<EmittedKernel>>(anchor)
      .Case<nn::ConvOp>([&](nn::ConvOp conv) {
        return nn::isDepthwise(conv) ? emitDepthwiseConv(code, isAligned) : emitConv(code, isAligned);
      })
      .Case<nn::MatmulOp>([&](auto) { return emitMatmul(code, isAligned); })
      .Case<nn::MaxPoolOp, nn::AvgPoolOp, nn::AdaptiveMaxPoolOp, nn::AdaptiveAvgPoolOp>(
          [&](auto) { return emitPool(code, isAligned); })
      .Case<nn::ConvTransposeOp>([&](auto) { return emitConvTranspose(code); })
      .Case<nn::ConvWeightGradientOp>([&](auto) { return emitConvWeightGradient(code, isAligned); })
      .Case<nn::AttentionOp>([&](auto) { return emitAttention(code); })
      .Case<nn::GatherGradientOp>([&](auto) { return emitGatherGradient(code); })
      .Case<nn::RecurrenceOp>([&](auto) { return emitRecurrence(code); })
      .Case<nn::LinearScanOp>([&](auto) { return emitLinearScan(code); })
      .Case<nn::RecurrenceGradientOp>([&](auto) { return emitRecurrenceGradient(code); })
      .Case<nn::ReductionOpInterface>([&](auto) { return emitReduction(code); })
      .Case<nn::SoftmaxOp, nn::LogSoftmaxOp>([&](auto) { return emitSoftmax(code); })
      .Case<nn::LayerNormOp, nn::RmsNormOp, nn::GroupNormOp, nn::InstanceNormOp>([&](auto) { return emitNormalisation(code); })
      .Case<nn::ElementwiseOpInterface, nn::MovementOpInterface>([&](auto) { return emitOnDemand(); })
      .Default([&](Operation *op) -> FailureOr<EmittedKernel> {
        return kernel.emitOpError("has the anchor ") << op->getName() << ", for which there is no CUDA emitter";
      });
}
