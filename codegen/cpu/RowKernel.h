// What softmax and the normalisations share: results of the shape of their input, statistics over a group of elements, and
// several passes over the group. An input that is a load away is read again by each pass; one that had to be computed is kept in
// scratch memory, and so is what a pass leaves for the next.
#pragma once

#include "codegen/RowLoops.h"
#include "codegen/cpu/AxisSweep.h"
#include "codegen/cpu/EmitKernel.h"

namespace nncc::codegen {

class RowKernel {
public:
  /// `swept` tells for each loop over the results' memory whether its dimension belongs to a group; `keepsValues`, whether a pass
  /// will call `keep`. Make it before beginKernel.
  RowKernel(KernelBuilder &b, nn::KernelOp kernel, llvm::ArrayRef<LoopDim> loops, llvm::ArrayRef<bool> swept,
            bool keepsValues = false);

  nn::Dim tasks() const { return sweep.tasks(); }
  nn::Dim scratchBytes() const;
  AxisSweep &groups() { return sweep; }

  /// Begins the function.
  void begin(llvm::StringRef symbol);
  KernelOperands &tensors() { return *operands; }
  mlir::VectorType vectorType() const { return type; }

  /// The anchor's input at a place, in the type of the computation: for the first pass, and for those that follow.
  mlir::Value firstInput(const Place &place);
  mlir::Value inputAgain(const Place &place);
  /// Leaves a value for the next pass, in the place of the input if that was kept.
  void keep(const Place &place, mlir::Value value);
  mlir::Value kept(const Place &place);

  /// Sum of what `term` makes of each place, in `chains` partial sums (see AxisSweep::reduce).
  mlir::Value sum(llvm::function_ref<mlir::Value(const Place &)> term, int64_t chains = AxisSweep::kChains);
  /// Runs the epilogue on the anchor's result and stores the kernel's results. `inputValue` (may be null) is the input there.
  void finish(const Place &place, mlir::Value anchorResult, mlir::Value inputValue);
  void end();

private:
  mlir::Value input(const Place &place);
  mlir::Value scratchAt(const Place &place);

  KernelBuilder &b;
  nn::KernelOp kernel;
  mlir::Operation *anchor;
  AxisSweep sweep;
  mlir::VectorType type;
  bool keepsInput, keepsValues;
  std::optional<KernelOperands> operands;
};

} // namespace nncc::codegen
