// One nn.kernel in, one CUDA kernel function out. EmitKernel.cpp looks at the kernel's anchor and hands it to the emitter that
// knows it; each emitter has a file of its own, with the name of its sibling in codegen/cpu.
#pragma once

#include "codegen/cuda/KernelCode.h"

namespace nncc::codegen::cuda {

/// Emits `kernel` as the function `symbol`. `isAligned`: all of its arguments start on 16 bytes. Reports what it cannot emit at
/// the kernel.
llvm::FailureOr<EmittedKernel> emitKernel(nn::KernelOp kernel, llvm::StringRef symbol, mlir::ModuleOp module, bool isAligned,
                                          const CudaOptions &options);

// The emitters by kind of anchor.
llvm::FailureOr<EmittedKernel> emitElementwise(KernelCode &code, bool isAligned);
llvm::FailureOr<EmittedKernel> emitAttention(KernelCode &code);
llvm::FailureOr<EmittedKernel> emitConv(KernelCode &code, bool isAligned);
llvm::FailureOr<EmittedKernel> emitConvTranspose(KernelCode &code);
llvm::FailureOr<EmittedKernel> emitConvWeightGradient(KernelCode &code, bool isAligned);
llvm::FailureOr<EmittedKernel> emitDepthwiseConv(KernelCode &code, bool isAligned);
llvm::FailureOr<EmittedKernel> emitGatherGradient(KernelCode &code);
llvm::FailureOr<EmittedKernel> emitLinearScan(KernelCode &code);
llvm::FailureOr<EmittedKernel> emitRecurrenceGradient(KernelCode &code);
llvm::FailureOr<EmittedKernel> emitMatmul(KernelCode &code, bool isAligned);
llvm::FailureOr<EmittedKernel> emitReduction(KernelCode &code);
llvm::FailureOr<EmittedKernel> emitSoftmax(KernelCode &code);
llvm::FailureOr<EmittedKernel> emitNormalisation(KernelCode &code);
llvm::FailureOr<EmittedKernel> emitPool(KernelCode &code, bool isAligned);
llvm::FailureOr<EmittedKernel> emitRecurrence(KernelCode &code);

} // namespace nncc::codegen::cuda
