// Walks over the elements that one reduction, softmax or normalisation takes together, group by group. What differs between those
// ops is only what they do on the way, so the loops and the choice of threads stand here once.
//
// Where the innermost dimension in memory is swept, a group is a row: a warp or a whole block walks along it, and partial results
// are combined by shuffles. Where it is not, neighbouring threads take neighbouring groups, each its own.
#pragma once

#include "codegen/LoopDims.h"
#include "codegen/cuda/KernelCode.h"

namespace nncc::codegen::cuda {

class AxisSweep {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  using Index = llvm::SmallVector<mlir::Value>;

  /// `loops` are the dimensions of the swept space from the outermost to the innermost in memory; `isSwept` says which of them
  /// belong to a group.
  AxisSweep(KernelCode &code, llvm::ArrayRef<LoopDim> loops, llvm::ArrayRef<bool> isSwept, unsigned rank);

  nn::Dim elementsPerGroup() const;
  /// Writes which group the thread works on; threads without one leave.
  void begin();
  /// Index with zero in the swept dimensions.
  const Index &group() const { return current; }

  /// Combines what `lift` makes of each element, starting from `neutral`. Every thread of the group has the results, under names
  /// that begin with `name`.
  Values reduce(llvm::StringRef name, mlir::ValueRange neutral, llvm::function_ref<Values(const Index &)> lift,
                llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine);
  mlir::Value sum(llvm::StringRef name, mlir::Type type, llvm::function_ref<mlir::Value(const Index &)> term);
  /// Runs `body` for each element.
  void map(llvm::function_ref<void(const Index &)> body);
  /// Opens a block that one thread of the group runs; close it with code.close().
  void openOnce();

  CudaLaunch launch() const;

private:
  Index openLoop();
  void combineThreads(llvm::ArrayRef<std::string> names, mlir::TypeRange types,
                      llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine);

  KernelCode &code;
  llvm::SmallVector<LoopDim> keptLoops, sweptLoops;
  unsigned rank;
  int64_t threadsPerGroup = 1; ///< 1, a warp, or the block
  Index current;
};

} // namespace nncc::codegen::cuda
