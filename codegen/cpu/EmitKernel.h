// One nn.kernel in, one CPU kernel function out. EmitKernel.cpp looks at the kernel's anchor and hands it to the emitter that
// knows it; each emitter has a file of its own.
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "ir/Kernel.h"

namespace nncc::codegen {

/// What the Program needs to know of an emitted kernel besides its code.
struct EmittedKernel {
  nn::Dim tasks;        ///< independent tasks of one step
  nn::Dim scratchBytes; ///< scratch memory per thread
};

/// Emits `kernel` as the function `symbol` into `module`, which carries the nn.dims list. Arguments of the function: the
/// kernel's operands, then its results. Reports what it cannot emit at the kernel.
llvm::FailureOr<EmittedKernel> emitKernel(nn::KernelOp kernel, llvm::StringRef symbol, mlir::ModuleOp module,
                                          const CpuTarget &target);

// The emitters by kind of anchor. Each starts and ends the kernel function itself.
llvm::FailureOr<EmittedKernel> emitConv(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitDepthwiseConv(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitMatmul(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitTransposedMatmul(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitConvWeightGradient(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitElementwise(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
/// Nothing when `kernel` does not pack a weight, or in a way that only the general loops know.
std::optional<EmittedKernel> emitPackPanels(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitPool(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitReduction(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitNormalisation(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitSoftmax(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitRecurrence(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitConvTranspose(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitGatherGradient(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitLinearScan(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitRecurrenceGradient(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);
llvm::FailureOr<EmittedKernel> emitAttention(KernelBuilder &builder, nn::KernelOp kernel, llvm::StringRef symbol);

} // namespace nncc::codegen
