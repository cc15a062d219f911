// From a module whose entry points consist of kernels and views to what runs: the Program (runtime/Program.h) and a module with
// one function per kernel. The last step on nn IR; CompileModule turns the functions into machine code.
#pragma once

#include "codegen/KernelTarget.h"
#include "codegen/cpu/CpuTarget.h"
#include "runtime/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace nncc::codegen {

struct CompiledKernels {
  rt::Program program;
  /// Functions named by Kernel::symbol.
  mlir::OwningOpRef<mlir::ModuleOp> kernels;
};

/// Builds the program of `model`, whose kernels `target` emits. Kernels with equal bodies become one function. Reports at the op
/// what cannot be expressed.
llvm::FailureOr<rt::Program> buildProgram(mlir::ModuleOp model, KernelTarget &target);

/// The same for the CPU.
llvm::FailureOr<CompiledKernels> buildProgram(mlir::ModuleOp model, const CpuTarget &target);

} // namespace nncc::codegen
