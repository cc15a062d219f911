// The frame of contraction kernels: a block computes a tile of rows x columns of a matrix product, a thread a small tile of that in
// registers. Slices of both operands, kBlockDepth deep, go through shared memory in two stages, so that the next slice is on its
// way from memory while the current one is multiplied. Conv.cpp and Matmul.cpp say where rows and columns lie and what becomes of
// a result.
#pragma once

#include "codegen/cuda/EmitKernel.h"

namespace nncc::codegen::cuda {

/// How the work is cut. Each number divides what it must: see planTile.
struct TileShape {
  int64_t rows, columns, depth;      ///< of a block's slice
  int64_t threadRows, threadColumns; ///< of a thread's tile
  /// Columns of a thread that lie side by side: what one store of 16 bytes takes.
  int64_t columnRun() const { return std::min<int64_t>(threadColumns, 4); }
  int64_t threads() const { return rows / threadRows * (columns / threadColumns); }
};

/// The tile for a product of `rows` x `depth` by `depth` x `columns`, `count` of them; rows must come in whole groups of `group` per
/// thread. Picks the candidate that an analytic model of a GPU (multiply-adds, shared memory and L2 traffic, waves of blocks)
/// expects to be fastest.
TileShape planTile(int64_t rows, int64_t columns, int64_t depth, int64_t count, int64_t group);

class Contraction {
public:
  Contraction(KernelCode &code, nn::AnchoredBody body);
  virtual ~Contraction() = default;

  /// Writes the whole kernel.
  EmittedKernel emit();

protected:
  //===--------------------------------------------------------------------===//
  // What the product is; set by the constructor of the subclass
  //===--------------------------------------------------------------------===//

  nn::Dim rows, columns, depth; ///< of one product
  nn::Dim products;             ///< independent products: groups, batch entries
  int64_t rowGroup = 1;         ///< rows that one thread must hold together: a pool's window
  mlir::Type element;           ///< of both operands
  std::string leftName, rightName;
  int64_t leftVector = 1;       ///< elements of a row of the left operand that are loaded at once, along the depth
  int64_t rightVector = 1;      ///< elements of the right operand that are loaded at once, along `rightAlong`
  bool rightAlongDepth = false; ///< neighbours in memory lie along the depth, not along the columns
  int64_t storeVector = 1;      ///< columns that are stored at once
  std::string formula;          ///< for the comment

  /// Writes what holds for the whole block; `product` is blockIdx.z.
  virtual void beginProduct(mlir::Value product) = 0;
  /// Declares arrays with an entry for each row that a thread loads: name and the value for `row`. Rows beyond the last are
  /// clipped to it.
  virtual llvm::SmallVector<std::pair<std::string, mlir::Value>> rowValues(mlir::Value row) = 0;

  /// An element of an operand, or vector from there on: `isInside` (null: always) tells whether it is there at all, or zero.
  struct Source {
    mlir::Value isInside;
    std::string pointer;
    mlir::Value offset;
  };
  /// Of the left operand, for the row whose values are in the arrays of rowValues at `[u]`.
  virtual Source leftSource(mlir::Value depth, llvm::ArrayRef<mlir::Value> rowValues) = 0;
  virtual Source rightSource(mlir::Value depth, mlir::Value column) = 0;

  /// Writes the results of the thread's tile; `sum(i, c)` names the sum of its row i and column c.
  virtual void storeTile() = 0;

  std::string sumType() const;
  mlir::Type sumElement() const;
  /// The thread's row i in the product; i is a constant or a loop's variable. Its column group g begins at groupColumn(g).
  mlir::Value rowOf(mlir::Value i);
  /// Runs `body(firstColumn)` for each run of `storeVector` columns of the thread, with the loop variable `g` for the run, behind
  /// the check that they exist.
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

private:
  void planWork();
  void declareShared();
  void writeLoads();
  void writeFetch();
  void writeCommit();
  void writeMultiply();

  mlir::Value firstRow, firstColumn, threadRow, threadColumn;
  llvm::SmallVector<std::pair<std::string, mlir::Value>> arrays;
};

} // namespace nncc::codegen::cuda
