// Walks over the elements that one reduction, softmax or normalisation takes together, group by group, in vectors. What differs
// between those ops is only what they do on the way, so the loops, the choice of lanes and the tasks stand here once.
//
// Lanes lie along the innermost dimension in memory. Where that dimension is swept, a group is a row: vectors run along it, and
// partial results are combined across lanes at the end. Where it is not, each lane is a group of its own.
#pragma once

#include "codegen/cpu/ElementAccess.h"
#include "codegen/LoopDims.h"

namespace nncc::codegen {

/// One step of a sweep: `lanes` elements from `index` on along `laneDim`.
struct Place {
  llvm::SmallVector<mlir::Value> index;
  int laneDim = -1;
  mlir::Value mask;   ///< lanes that count, null for all
  mlir::Value number; ///< of the first element within the group, in the order of the sweep
};

class AxisSweep {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// `loops` are the dimensions of the swept space from the outermost to the innermost in memory; `swept` says which of them
  /// belong to a group. `lanes` as the widest element asks for.
  AxisSweep(KernelBuilder &b, llvm::ArrayRef<LoopDim> loops, llvm::ArrayRef<bool> swept, unsigned rank, int64_t lanes);

  /// Known before the kernel is begun.
  nn::Dim tasks() const;
  nn::Dim elementsPerGroup() const;
  int64_t lanesPerElement() const { return sweepsLanes ? 1 : lanes; } ///< groups that are worked on at once
  int64_t laneCount() const { return lanes; }
  /// Vectors run along a swept dimension.
  bool isRowwise() const { return sweepsLanes; }

  /// Emits the loops over this call's groups; within `body` the functions below speak of the group at hand.
  void forEachGroup(llvm::function_ref<void()> body);

  /// Index with zero in the swept dimensions, the lane dimension and the mask of the groups at hand.
  Place group() const { return current; }

  /// Partial results side by side: independent chains that hide the latency of an addition.
  static constexpr int64_t kChains = 4;

  /// Combines what `lift` makes of each element, starting from `neutral` (vectors), in `chains` partial results. The results are
  /// vectors: with one group at hand, every lane holds its result.
  Values reduce(mlir::ValueRange neutral, llvm::function_ref<Values(const Place &)> lift,
                llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine, int64_t chains = kChains);
  /// Runs `body` for each element.
  void map(llvm::function_ref<void(const Place &)> body);

private:
  using PlaceBody = llvm::function_ref<Values(const Place &, mlir::ValueRange)>;
  Values walk(size_t loop, Place place, mlir::ValueRange carried, PlaceBody body);
  Values walkInnermost(const LoopDim &loop, Place place, mlir::ValueRange carried, PlaceBody body);
  Values innermostReduction(const LoopDim &loop, const Place &place, mlir::ValueRange carried);
  Place at(const Place &place, const LoopDim &loop, mlir::Value position, mlir::Value mask) const;
  Values acrossLanes(mlir::ValueRange partial,
                     llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine);

  KernelBuilder &b;
  llvm::SmallVector<LoopDim> keptLoops, sweptLoops;
  unsigned rank;
  int64_t lanes;
  bool sweepsLanes;
  int64_t groupsPerTask = 1;
  Place current;

  // While a reduction is being emitted.
  mlir::ValueRange neutral;
  llvm::function_ref<Values(const Place &)> lift;
  llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine;
  int64_t chains = kChains;
};

} // namespace nncc::codegen
