// From a module of CPU kernels (func, scf, arith, math, vector, llvm ops) to machine code.
#pragma once

#include "codegen/cpu/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace nncc::codegen {

struct CompileOptions {
  unsigned optLevel = 3; ///< -O0..-O3
};

/// Lowers `module` in place to the LLVM dialect: vector math becomes polynomials, loops become branches.
llvm::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module);

/// Translates a lowered module and optimises it for `target`.
llvm::Expected<std::unique_ptr<llvm::Module>> translateAndOptimise(mlir::ModuleOp module,
                                                                   llvm::LLVMContext &context,
                                                                   const CpuTarget &target,
                                                                   const CompileOptions &options);

enum class MachineCode { Object, Assembly };

/// Machine code of an optimised module.
llvm::Expected<llvm::SmallVector<char, 0>> generateCode(llvm::Module &module, const CpuTarget &target,
                                                        const CompileOptions &options,
                                                        MachineCode kind);

} // namespace nncc::codegen
