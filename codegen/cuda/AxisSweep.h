// Walks over the elements that one reduction, softmax or normalisation takes together, group by group. What differs between those
// ops is only what they do on the way, so the loops and the choice of threads stand here once.
//
// Where the innermost dimension in memory is swept, a group is a row: a warp or a whole block walks along it, and partial results
// are combined by shuffles. Where it is not, neighbouring threads take neighbouring groups, each its own; or, where there are few groups
// of many elements, as the channels of a batch of images are, each block has several threads for a group and each group several blocks,
// whose results another kernel combines.
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

  /// The parts into which each group is cut for blocks of its own, 1 for none; what `begin` and `reduce` then do is for a kernel that
  /// leaves the results in a workspace, of `values` f32 numbers for each group.
  int64_t cutIntoParts(int64_t values);
  nn::Dim workspaceElements() const;
  /// Writes the results of the block's groups to the workspace.
  void storeParts(mlir::ValueRange partial);
  /// In the kernel behind: `reduce` of what the parts left in the workspace.
  Values combineParts(llvm::StringRef name, int64_t parts, mlir::ValueRange neutral,
                      llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine);

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
  /// Variables that begin as `neutral`; appends their names.
  Values declarePartial(llvm::StringRef name, mlir::ValueRange neutral, llvm::SmallVector<std::string> &names);
  /// Overwrites variables, when all results have been computed from their old values.
  void assign(llvm::ArrayRef<std::string> names, mlir::ValueRange results);
  Index openLoop();
  void beginPart();
  void combineRows(llvm::ArrayRef<std::string> names, mlir::TypeRange types,
                   llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine);
  std::string placeInParts(llvm::StringRef part, int64_t value, int64_t values) const;
  void combineThreads(llvm::ArrayRef<std::string> names, mlir::TypeRange types,
                      llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine);

  KernelCode &code;
  llvm::SmallVector<LoopDim> keptLoops, sweptLoops;
  unsigned rank;
  int64_t threadsPerGroup = 1; ///< 1, a warp, or the block
  bool isRowwise = true;
  int64_t parts = 1, valuesPerGroup = 1;
  int64_t columns = 1; ///< groups of a block, with parts
  Index current;
};

} // namespace nncc::codegen::cuda
