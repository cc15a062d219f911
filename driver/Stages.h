// The middle stages of a compilation, one function each, in the order in which they run: passes,
// program, LLVM IR, machine code. Each takes what the one before left; none prints or exits.
#pragma once

#include "codegen/ProgramBuilder.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cuda/CudaKernels.h"
#include "codegen/link/WriteObject.h"
#include "passes/Pipeline.h"
#include "support/Error.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <functional>
#include <memory>
#include <string>

namespace nncc::driver {

struct PassOptions {
  /// Applies the stock command-line flags, where there is a command line.
  std::function<llvm::LogicalResult(mlir::PassManager &)> configure;
  std::string dumpFolder; ///< --dump-phases, or empty
  /// --memory-budget: bytes that the intermediates of a training step may take at the batch of the train section; 0: any.
  int64_t memoryBudgetBytes = 0;
};

/// A kernel of a training step, for reports.
struct StepNote {
  enum class Phase { Forward, Backward, Update };
  Phase phase = Phase::Forward;
  bool isRecomputed = false; ///< it makes again what was dropped to fit a memory budget
  std::string kernel;        ///< its name
  std::string source;        ///< file:line:column of the model
};

/// What the passes know of train_step and the Program does not say.
struct StepNotes {
  std::vector<StepNote> kernels; ///< in order
  int64_t unlimitedBytes = 0;    ///< of the arena, had there been no memory budget
};

/// The target for --cpu; a user error names the known levels.
Result<codegen::CpuTarget> findTarget(const std::string &cpu);

/// The sizes in which a target wants weights packed.
passes::Packing packingFor(const codegen::CpuTarget &target);

/// Values of the named dims for which a training step is planned: the batch of the train section for a dim that is the first of an
/// input, for any other the least it may be.
std::vector<int64_t> trainingDims(const rt::Program &program);

/// From logical ops to kernels and views.
Result<void> runPasses(mlir::ModuleOp module, const passes::Packing &packing,
                       const PassOptions &options);

/// The Program, and a module with one function per kernel.
Result<codegen::CompiledKernels> buildProgram(mlir::ModuleOp module,
                                              const codegen::CpuTarget &target);

/// The Program for a CUDA device, and the source of its kernels.
struct CudaProgram {
  rt::Program program;
  std::vector<codegen::cuda::CudaSource> sources;
};
Result<CudaProgram> buildCudaProgram(mlir::ModuleOp module,
                                     const codegen::cuda::CudaOptions &options);
/// The sizes in which CUDA kernels want weights packed.
passes::Packing cudaPacking();

/// The model compiled for CUDA devices, with machine code for the architectures that were asked for.
struct CudaCode {
  rt::Program program;
  codegen::DescriptorCuda contents; ///< but its programJson
  std::vector<codegen::cuda::CudaSource> sources; ///< what the contents were made from, for reports
  StepNotes stepNotes;
};
/// The passes and the program for CUDA, on a copy of `imported`; `afterPasses` as in
/// compileVariant. An environment error when there is no NVRTC for `architectures` ("sm_80"), a user
/// error for one that it does not know.
Result<CudaCode> compileCuda(mlir::ModuleOp imported, const std::vector<std::string> &architectures,
                             const codegen::cuda::CudaOptions &cudaOptions, const PassOptions &options,
                             llvm::function_ref<void(mlir::ModuleOp)> afterPasses);

/// A module and the context that it lives in.
struct LlvmKernels {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
};

/// Optimised LLVM IR. Lowers `kernels` in place. Functions carry the names of variant `index`.
Result<LlvmKernels> translateKernels(mlir::ModuleOp kernels, const codegen::CpuTarget &target,
                                     unsigned optLevel, size_t variantIndex);

enum class CodeKind { Object, Assembly };
Result<llvm::SmallVector<char, 0>> generateMachineCode(llvm::Module &module,
                                                       const codegen::CpuTarget &target,
                                                       unsigned optLevel, CodeKind kind);

/// The model compiled for one CPU.
struct VariantCode {
  std::string cpuLevel; ///< as runtime/CpuLevel.h spells it
  rt::Program program;
  llvm::SmallVector<char, 0> object;
  StepNotes stepNotes;
};

/// All stages of this file, on a copy of `imported`. `afterPasses` sees the module when the passes
/// are through, for what reads weights or reports from it.
Result<VariantCode> compileVariant(mlir::ModuleOp imported, const codegen::CpuTarget &target,
                                   unsigned optLevel, size_t variantIndex,
                                   const PassOptions &options,
                                   llvm::function_ref<void(mlir::ModuleOp)> afterPasses);

} // namespace nncc::driver
