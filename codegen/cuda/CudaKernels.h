// The kernels of a model as CUDA C++: one function per kernel.
#pragma once

#include "codegen/cuda/CudaOptions.h"
#include "codegen/cuda/KernelCode.h"
#include "runtime/Program.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace nncc::codegen::cuda {

struct CudaSource {
  std::string symbol; ///< Kernel::symbol of the program
  std::string text;   ///< the function and its tables, without the header
  KernelBudget budget;
  std::optional<ProductPlan> product;
};

/// A KernelTarget that keeps the source of every kernel, in the order of the Program's kernels.
class CudaKernels : public KernelTarget {
public:
  CudaKernels(mlir::ModuleOp model, const CudaOptions &options) : model(model), options(options) {}

  llvm::FailureOr<KernelPlan> emit(nn::KernelOp kernel, llvm::StringRef symbol, bool isAligned) override;
  /// C++ has functions of its own named pow and floor.
  std::string symbolFor(llvm::StringRef name) const override { return (name + "_kernel").str(); }
  bool needsAlignment() const override { return true; }
  std::string identity() const override { return "cuda"; }

  std::vector<CudaSource> sources;

private:
  /// Keeps the source of a kernel, and of the one behind it; what the Program says of them.
  std::optional<KernelPlan::Finish> keep(EmittedKernel &code);

  mlir::ModuleOp model; ///< carries the nn.dims list
  CudaOptions options;
};

/// All kernels of a program as one self-contained file, in the order in which they run, for nvcc, clang or a reader: behind the parts
/// of the device header that they use.
std::string printCudaFile(const rt::Program &program, llvm::ArrayRef<CudaSource> sources);

} // namespace nncc::codegen::cuda
