// Chooses the tile of a contraction by an analytic model; see Contraction.h.
//
// The model is of a GPU of the Ampere generation; what counts is the order of the candidates, which depends on proportions that
// hold from Turing to Blackwell. Time is in cycles of one multiprocessor:
//
//   multiply   rows * columns * depth multiply-adds at 64 a cycle, for the whole tile, useful or not
//   shared     a thread reads threadRows + threadColumns words for threadRows * threadColumns multiply-adds; 32 words a cycle
//   L2         (rows + columns) * depth words per block, 16 words a cycle
//
// A block runs at the slowest of the three; blocks come in waves over all multiprocessors, and the last wave counts as a whole one.

#include "codegen/cuda/Contraction.h"

using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

constexpr int64_t kMultiprocessors = 108, kMultiplyAddsPerCycle = 64, kSharedWordsPerCycle = 32, kL2WordsPerCycle = 16;
constexpr int64_t kThreadsPerMultiprocessor = 1024; ///< that registers allow at these tiles
/// Cycles that a block spends outside its loop, and per slice on the way to the first multiply-add.
constexpr double kBlockOverhead = 1500;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

double predictedCycles(const TileShape &tile, int64_t rows, int64_t columns, int64_t depth, int64_t count) {
  double blocks = double(ceilDiv(rows, tile.rows)) * ceilDiv(columns, tile.columns) * count;
  double multiplyAdds = double(tile.rows) * tile.columns * depth;
  double multiply = multiplyAdds / kMultiplyAddsPerCycle;
  double wordsPerMultiplyAdd = double(tile.threadRows + tile.threadColumns) / (tile.threadRows * tile.threadColumns);
  double shared = multiplyAdds * wordsPerMultiplyAdd / kSharedWordsPerCycle;
  double l2 = double(tile.rows + tile.columns) * depth / kL2WordsPerCycle;
  double block = std::max({multiply, shared, l2});
  // Blocks that share a multiprocessor share its units, but hide each other's waiting.
  double residentBlocks = std::clamp<double>(double(kThreadsPerMultiprocessor) / tile.threads(), 1, 8);
  double perWave = kMultiprocessors * residentBlocks;
  double waves = std::ceil(blocks / perWave);
  double usedPerMultiprocessor = std::min(residentBlocks, std::ceil(blocks / kMultiprocessors));
  return waves * (block * usedPerMultiprocessor + kBlockOverhead);
}

} // namespace

TileShape cuda::planTile(int64_t rows, int64_t columns, int64_t depth, int64_t count, int64_t group) {
  // A slice is a whole number of loads of four elements for every thread, or nearly.
  static constexpr TileShape kCandidates[] = {
      {128, 128, 8, 8, 8}, {128, 64, 8, 8, 8}, {64, 64, 16, 8, 4},  {128, 32, 16, 8, 4}, {64, 32, 16, 4, 4},
      {32, 64, 16, 4, 4},  {32, 32, 16, 4, 2}, {128, 16, 8, 8, 2}, {64, 16, 16, 4, 2},  {16, 64, 16, 2, 4},
  };
  TileShape best{};
  double bestCycles = 0;
  for (TileShape tile : kCandidates) {
    if (tile.threadRows % group != 0) {
      // As many whole groups as come nearest.
      int64_t threadsDown = tile.rows / tile.threadRows;
      tile.threadRows = std::max<int64_t>(1, tile.threadRows / group) * group;
      tile.rows = threadsDown * tile.threadRows;
    }
    double cycles = predictedCycles(tile, rows, columns, depth, count);
    if (best.rows == 0 || cycles < bestCycles) {
      best = tile;
      bestCycles = cycles;
    }
  }
  return best;
}
