// The frame of contraction kernels: a block computes a tile of rows x columns of a matrix product, a thread a small tile of that in
// registers. Slices of both operands, kBlockDepth deep, go through shared memory in several stages, so that the next slice is on
// its way from memory while the current one is multiplied. Conv.cpp and Matmul.cpp say where rows and columns lie and what becomes
// of a result; PlainTiles.cpp multiplies with the threads' own multiply-adds, TensorTiles.cpp on tensor cores.
//
// A kernel's text, launch and shared memory are the same for every device: where one has no instruction for something,
// device/nncc_device.cuh does it in another way. So a source can travel in a model without naming an architecture.
#pragma once

#include "codegen/cuda/Alternatives.h"
#include "codegen/cuda/EmitKernel.h"
#include "codegen/cuda/LoadPlan.h"
#include "codegen/cuda/TilePlan.h"

namespace nncc::codegen::cuda {

class Contraction {
public:
  Contraction(KernelCode &code, nn::AnchoredBody body);
  virtual ~Contraction() = default;

  /// Writes the whole kernel, or the one that leaves parts of the sums in a workspace.
  EmittedKernel emit();
  /// Writes the kernel behind that, which adds up the parts.
  EmittedKernel emitSum(int64_t parts);
  int64_t parts() const { return tile.parts; }

protected:
  //===--------------------------------------------------------------------===//
  // What the product is; set by the constructor of the subclass
  //===--------------------------------------------------------------------===//

  nn::Dim rows, columns, depth; ///< of one product
  nn::Dim products;             ///< independent products: groups, batch entries
  int64_t rowGroup = 1;         ///< rows that one thread must hold together: a pool's window
  mlir::Type element;           ///< of both operands
  std::string leftName, rightName;
  bool leftAlongDepth = true;   ///< neighbours in memory lie along the depth, not along the rows
  int64_t leftVector = 1;       ///< elements of the left operand that are loaded at once, along the depth or the rows
  int64_t rightVector = 1;      ///< elements of the right operand that are loaded at once, along `rightAlong`
  bool rightAlongDepth = false; ///< neighbours in memory lie along the depth, not along the columns
  int64_t storeVector = 1;      ///< columns that are stored at once
  int64_t typicalDim = 8;       ///< what the plan takes a named dim for: a batch as a rule, and small
  std::string formula;          ///< for the comment

  mlir::Value product; ///< the one at hand
  /// The thread's sum, as a value: of the column at hand in a run that begins at `column`.
  mlir::Value sumAt(llvm::StringRef row, mlir::Value column);
  /// Writes what holds for the whole block.
  virtual void beginProduct() = 0;
  /// With leftAlongDepth: declares arrays with an entry for each row that a thread loads: name and the value for `row`. Rows beyond
  /// the last are clipped to it.
  virtual llvm::SmallVector<std::pair<std::string, mlir::Value>> rowValues(mlir::Value row) { return {}; }

  /// An element of an operand, or vector from there on: `isInside` (null: always) tells whether it is there at all, or zero.
  struct Source {
    mlir::Value isInside;
    std::string pointer;
    mlir::Value offset;
  };
  /// Of the left operand, for the row whose values are in the arrays of rowValues at `[u]`; for `rowValues[0]` without leftAlongDepth.
  virtual Source leftSource(mlir::Value depth, llvm::ArrayRef<mlir::Value> rowValues) = 0;
  virtual Source rightSource(mlir::Value depth, mlir::Value column) = 0;

  /// Writes the results of the thread's tile; `sum(i, c)` names the sum of its row i and column c.
  virtual void storeTile() = 0;

  /// The number that a plan is made for where a dimension is dynamic.
  int64_t typical(nn::Dim dim) const;
  /// How the elements are multiplied.
  Arithmetic arithmetic() const;
  /// As many elements as can be moved at once where all of `extents` are multiples of them.
  int64_t vectorThatDivides(llvm::ArrayRef<nn::Dim> extents) const;

  std::string sumType() const;
  mlir::Type sumElement() const;
  /// The thread's row i in the product; i is a constant or a loop's variable.
  mlir::Value rowOf(mlir::Value i);
  /// In the loop over the thread's rows: what follows is for rows of the product alone. `row` counts groups of `together` rows.
  void skipRowsOutside(mlir::Value row, int64_t together = 1);
  /// Runs `body` for each run of `storeVector` columns of the thread behind the check that they exist: with the first of them in
  /// the product and among the thread's sums.
  void forColumns(llvm::function_ref<void(mlir::Value firstColumn, mlir::Value sumColumn)> body);

  /// `chain` on `root` for row `row` and column `channel` of a matrix whose memory holds `space`, its channels innermost. With
  /// storeVector > 1, of the lane at hand.
  mlir::Value applyChain(const nn::Chain &chain, mlir::RankedTensorType space, unsigned channelDim, mlir::Value root,
                         mlir::Value row, mlir::Value channel);
  /// Stores `value` (of the lane at hand, when there are several) from `place` on.
  void storeColumns(mlir::Type stored, const Memory &result, mlir::Value place, llvm::function_ref<mlir::Value()> value);
  void nameChainOperands(const nn::Chain &chain, mlir::RankedTensorType space, unsigned channelDim);

  KernelCode &code;
  nn::AnchoredBody body;
  TileShape tile;
  uint32_t tilesBehind = 0; ///< candidates that are ranked behind it

private:
  void planWork();
  int64_t registersNeeded();
  /// There may be more products, or tiles across, than a device takes along the second and the third
  /// axis of a grid: all tiles stand along the first, in the order in which they would run otherwise.
  bool isFlatGrid() const {
    return code.mayExceed(products * tile.parts, kMostAcross) ||
           code.mayExceed(columns.ceilDiv(tile.columns), kMostAcross);
  }
  static constexpr int64_t kMostAcross = 65535;
  void beginBlock();
  void storeParts();
  mlir::Value placeInParts(mlir::Value part, mlir::Value row, mlir::Value column);
  void writeRowValues();
  Source leftAt(LoadPlace place);
  Source rightAt(LoadPlace place);
  mlir::Value isDepth(mlir::Value k);
  mlir::Value both(mlir::Value a, mlir::Value b);
  /// The row of the product, from the block's first, that row `across` of the slice in shared memory holds.
  mlir::Value rowInBlock(mlir::Value across);
  /// Slices of the depth go to the parts as evenly as they come; where the depth is dynamic, some parts may be empty.
  nn::Dim depthOfPart() const { return depth.ceilDiv(tile.depth).ceilDiv(tile.parts) * tile.depth; }
  LoadPlan leftPlan() const {
    return leftAlongDepth ? LoadPlan(tile.depth, tile.rows, leftVector, tile.threads())
                          : LoadPlan(tile.rows, tile.depth, leftVector, tile.threads());
  }
  LoadPlan rightPlan() const {
    return rightAlongDepth ? LoadPlan(tile.depth, tile.columns, rightVector, tile.threads())
                           : LoadPlan(tile.columns, tile.depth, rightVector, tile.threads());
  }

  // Multiply-adds of the threads.
  void declarePlainTiles();
  void placeThread();
  void writeFetch();
  void writeCommit();
  void writeMultiply();

  // Tensor cores.
  void declareTensorTiles();
  void placeLane();
  void declareLaneRow();
  void writeCopies();
  void writeTensorMultiply();
  void writeStep();
  std::string placeInTile(llvm::StringRef name, bool alongDepth, mlir::Value row, mlir::Value column);
  std::string tileAt(llvm::StringRef name, bool alongDepth, mlir::Value row, mlir::Value column);

  mlir::Value part;
  std::string depthBegin = "0", depthEnd; ///< of the block's part
  mlir::Value firstRow, firstColumn, threadRow, threadColumn;
  mlir::Value warpRow, warpColumn; ///< on tensor cores
  /// What a lane adds to a place in a slice to get the row that it shows load_matrices.
  struct LanePlace {
    mlir::Value across, along;
  };
  LanePlace leftLane, rightLane;
  llvm::SmallVector<std::pair<std::string, mlir::Value>> arrays;
};

/// Writes the kernel of a contraction, or two.
template <class Code>
llvm::FailureOr<EmittedKernel> emitContraction(KernelCode &code, const nn::AnchoredBody &body, bool isAligned) {
  Code contraction(code, body, isAligned);
  if (failed(contraction.plan()))
    return mlir::failure();
  EmittedKernel emitted = contraction.emit();
  emitted.alternatives = alternativesOf(code.kernel, body, code.options);
  if (contraction.parts() == 1)
    return emitted;
  for (LibraryCall &call : emitted.alternatives)
    call.replacesParts = true;
  std::unique_ptr<KernelCode> finisher = code.finisher();
  Code sum(*finisher, body, isAligned);
  if (failed(sum.plan()))
    return mlir::failure();
  emitted.finish.push_back(sum.emitSum(contraction.parts()));
  return emitted;
}

} // namespace nncc::codegen::cuda
