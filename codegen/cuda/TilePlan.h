// How a contraction is cut into tiles for the threads of a device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace nncc::codegen::cuda {

/// What multiplies: the fused multiply-add of each thread, or tensor cores on operands of this kind.
enum class Arithmetic { MultiplyAdd, Half, Tf32, Tf32x3 };

/// A matrix product as the model sees it. Dimensions that are not known are guessed by the caller.
struct ProductSize {
  int64_t rows, columns, depth;
  int64_t count = 1;    ///< independent products
  int64_t rowGroup = 1; ///< rows that one thread must hold together: a pool's window
  bool maySplit = false; ///< the depth may be cut into parts that are added up by another kernel
  Arithmetic arithmetic = Arithmetic::MultiplyAdd;
};

/// What a block computes at a time, and a thread of it. Each number divides what it must.
struct TileShape {
  int64_t rows, columns, depth;      ///< of a block's slice
  int64_t threadRows, threadColumns; ///< of a thread's sums
  int64_t stages = 2;                ///< slices in shared memory: one that is multiplied, the others on their way
  bool usesTensorCores = false;
  int64_t parts = 1; ///< of the depth, each for blocks of its own; depthOfPart is whole slices

  int64_t depthOfPart(int64_t whole) const {
    int64_t slices = (whole + depth - 1) / depth;
    return (slices + parts - 1) / parts * depth;
  }
  int64_t threads() const { return rows / threadRows * (columns / threadColumns); }
  /// Columns of a thread that lie side by side, and from the start of one such run to the next.
  int64_t columnRun() const { return std::min<int64_t>(threadColumns, usesTensorCores ? 8 : 4); }
  int64_t columnStep() const { return usesTensorCores ? 32 : columns * columnRun() / threadColumns; }

  // Of a warp on tensor cores, in tiles of 16 x 8: each of its 32 lanes has two rows and two columns of every one.
  int64_t warpRows() const { return threadRows * 8; }
  int64_t warpColumns() const { return threadColumns * 4; }
  int64_t warpsAcross() const { return columns / warpColumns(); }

  /// "64 x 64 x 16, thread 8 x 4, 2 parts": tells it from the other tiles of a contraction.
  std::string describe() const;
};

/// 32-bit registers that the tile is planned to take; the launch bounds ask for them.
int64_t registersPerThread(const TileShape &tile, Arithmetic arithmetic);

/// The tiles that fit a product and every device, from the one that an analytic model of a GPU expects to be fastest. There is at
/// least one.
std::vector<TileShape> rankTiles(const ProductSize &size);

} // namespace nncc::codegen::cuda
