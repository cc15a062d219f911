// What softmax and the normalisations share: results of the shape of their input, statistics over a group of elements, and
// several passes over the group. A pass leaves its values in scratch memory for the next where they cost more than a load.
#pragma once

#include "codegen/cpu/AxisSweep.h"
#include "codegen/cpu/EmitKernel.h"

namespace nncc::codegen {

class RowKernel {
public:
  /// `isSwept` tells for each loop over the results' memory whether its dimension belongs to a group. Call before beginKernel.
  RowKernel(KernelBuilder &b, nn::KernelOp kernel, llvm::ArrayRef<LoopDim> loops, llvm::ArrayRef<bool> swept,
            bool keepsValues);

  nn::Dim tasks() const { return sweep.tasks(); }
  nn::Dim scratchBytes() const;
  AxisSweep &groups() { return sweep; }

  /// Begins the function.
  void begin(llvm::StringRef symbol);
  KernelOperands &tensors() { return *operands; }
  mlir::VectorType vectorType() const { return type; }

  /// The anchor's input at a place, in the type of the computation.
  mlir::Value input(const Place &place);
  /// The value that the last pass kept for a place, or the input where nothing is kept.
  mlir::Value kept(const Place &place);
  void keep(const Place &place, mlir::Value value);
  /// Keeps the input, when values are kept at all.
  mlir::Value firstInput(const Place &place);

  /// Sum of what `term` makes of each place.
  mlir::Value sum(llvm::function_ref<mlir::Value(const Place &)> term);
  /// Runs the epilogue on the anchor's result and stores the kernel's results. `inputValue` (may be null) is the input there.
  void finish(const Place &place, mlir::Value anchorResult, mlir::Value inputValue);
  void end();

private:
  mlir::Value scratchAt(const Place &place);

  KernelBuilder &b;
  nn::KernelOp kernel;
  mlir::Operation *anchor;
  AxisSweep sweep;
  mlir::VectorType type;
  bool keepsValues;
  std::optional<KernelOperands> operands;
};

/// True when the kernel's results all have the logical type of the anchor's input but for the element type; reports otherwise.
llvm::LogicalResult checkRowResults(nn::KernelOp kernel, mlir::Operation *anchor);

/// The loops over the kernel's first result; dimensions join when both or neither of them `isSwept`, neither is `apart`, and the
/// tensors that are read (`aligned` too) allow it.
llvm::SmallVector<LoopDim> rowLoops(nn::KernelOp kernel, mlir::Operation *anchor, mlir::ValueRange aligned,
                                    llvm::function_ref<bool(int64_t)> isSwept, std::optional<int64_t> apart = {});

} // namespace nncc::codegen
