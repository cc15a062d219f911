// Ranks the tiles of a contraction by an analytic model; see TilePlan.h.
//
// The model is of a GPU of the Ampere generation; what counts is the order of the candidates, which depends on proportions that
// hold from Turing to Blackwell. A slice of all stages fits the 48 KB of shared memory that a kernel may have without asking, and
// the sums and operands of a thread fit its registers, on every device. Time is in cycles of one multiprocessor:
//
//   multiply   rows * columns * depth multiply-adds for the whole tile, useful or not; 64 a cycle, tensor cores more
//   shared     what threads (warps, on tensor cores) read of both operands for their tile, and what is written; 128 bytes a cycle
//   L2         (rows + columns) * depth elements per block, 64 bytes a cycle
//
// A block runs at the slowest of the three, but no slice comes sooner than memory answers; blocks come in waves over all
// multiprocessors, and the last wave counts as a whole one. Few blocks with a long depth are cut along it, where what that saves is
// more than a second kernel costs, which adds up the parts in their order: sums are the same in every run.

#include "codegen/cuda/TilePlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <map>

using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

/// Sums, operands of one step (3xTF32 holds them in two parts), and what addresses and loads take, about.
int64_t cuda::registersPerThread(const TileShape &tile, Arithmetic arithmetic) {
  constexpr int64_t kOther = 48;
  int64_t sums = tile.threadRows * tile.threadColumns;
  if (!tile.usesTensorCores)
    return sums + tile.threadRows + tile.threadColumns + kOther;
  return sums + (2 * tile.threadRows + tile.threadColumns) * (arithmetic == Arithmetic::Tf32x3 ? 3 : 1) + kOther;
}

std::string TileShape::describe() const {
  std::string text = llvm::formatv("{0} x {1} x {2}, {3} {4} x {5}", rows, columns, depth, usesTensorCores ? "warp" : "thread",
                                   usesTensorCores ? warpRows() : threadRows, usesTensorCores ? warpColumns() : threadColumns);
  return parts > 1 ? text + ", " + std::to_string(parts) + " parts" : text;
}

namespace {

constexpr int64_t kMultiprocessors = 108, kSharedBytesPerCycle = 128, kL2BytesPerCycle = 64;
constexpr int64_t kRegisters = 65536, kRegistersPerThread = 255, kThreads = 2048, kSharedBytes = 164 << 10; ///< of a multiprocessor
constexpr int64_t kSharedBytesPerBlock = 48 << 10;
/// Cycles that a block spends outside its loop, from a load to its data, and that a second kernel takes at least.
constexpr double kBlockOverhead = 1500, kLatency = 700, kLaunch = 4000;
constexpr int64_t kMostParts = 128, kLeastSlices = 4; ///< of a part

double multiplyAddsPerCycle(Arithmetic arithmetic) {
  switch (arithmetic) {
  case Arithmetic::MultiplyAdd:
    return 64;
  case Arithmetic::Half:
    return 1024;
  case Arithmetic::Tf32:
    return 512;
  case Arithmetic::Tf32x3:
    return 512 / 3.;
  }
  llvm_unreachable("every arithmetic is handled");
}

/// Bytes of an element in shared memory: plain kernels widen theirs as they put it there.
int64_t elementBytes(Arithmetic arithmetic) { return arithmetic == Arithmetic::Half ? 2 : 4; }

int64_t sharedBytes(const TileShape &tile, Arithmetic arithmetic) {
  return tile.stages * (tile.rows + tile.columns) * tile.depth * elementBytes(arithmetic);
}

double predictedCycles(const TileShape &tile, const ProductSize &size) {
  double blocks = double(llvm::divideCeil(size.rows, tile.rows)) * llvm::divideCeil(size.columns, tile.columns) * size.count * tile.parts;
  int64_t depth = tile.depthOfPart(size.depth), bytes = elementBytes(size.arithmetic);
  double multiplyAdds = double(tile.rows) * tile.columns * depth;
  double multiply = multiplyAdds / multiplyAddsPerCycle(size.arithmetic);
  double rowsTogether = tile.usesTensorCores ? tile.warpRows() : tile.threadRows;
  double columnsTogether = tile.usesTensorCores ? tile.warpColumns() : tile.threadColumns;
  double slices = double(tile.rows + tile.columns) * depth * bytes;
  double shared = (multiplyAdds * (1 / rowsTogether + 1 / columnsTogether) * bytes + slices) / kSharedBytesPerCycle;
  double block = std::max({multiply, shared, slices / kL2BytesPerCycle});
  // Blocks that share a multiprocessor share its units, but hide each other's waiting.
  double resident = std::min({kThreads / tile.threads(), kSharedBytes / sharedBytes(tile, size.arithmetic),
                              kRegisters / (registersPerThread(tile, size.arithmetic) * tile.threads())});
  double waves = std::ceil(blocks / (kMultiprocessors * resident));
  double usedPerMultiprocessor = std::min(resident, std::ceil(blocks / kMultiprocessors));
  double waiting = double(depth) / tile.depth * kLatency / (tile.stages - 1);
  double working = block * usedPerMultiprocessor;
  // Most of the shorter is hidden behind the longer.
  double cycles = waves * (std::max(working, waiting) + std::min(working, waiting) / 8 + kBlockOverhead);
  if (tile.parts > 1) {
    double partBytes = double(size.rows) * size.columns * size.count * tile.parts * sizeof(float);
    cycles += kLaunch + 2 * partBytes / (kMultiprocessors * kL2BytesPerCycle / 2); // written and read
  }
  return cycles;
}

/// Cuts the depth into as many parts as are worth it.
void split(TileShape &tile, const ProductSize &size) {
  constexpr double kLeastGain = 1.2;
  TileShape best = tile;
  for (tile.parts = 2; tile.parts <= kMostParts && tile.depthOfPart(size.depth) >= kLeastSlices * tile.depth; tile.parts *= 2)
    if (predictedCycles(tile, size) * (best.parts == 1 ? kLeastGain : 1) < predictedCycles(best, size))
      best = tile;
  tile = best;
  tile.parts = llvm::divideCeil(size.depth, tile.depthOfPart(size.depth)); // none of them empty
}

std::vector<TileShape> plainCandidates() {
  // A slice is a whole number of loads of four elements for every thread, or nearly.
  return {
      {128, 128, 8, 8, 8}, {128, 64, 8, 8, 8}, {64, 64, 16, 8, 4}, {128, 32, 16, 8, 4}, {64, 32, 16, 4, 4},
      {32, 64, 16, 4, 4},  {32, 32, 16, 4, 2}, {128, 16, 8, 8, 2}, {64, 16, 16, 4, 2},  {16, 64, 16, 2, 4},
  };
}

std::vector<TileShape> tensorCandidates(Arithmetic arithmetic) {
  struct Candidate {
    int64_t rows, columns, depthBytes, warpRows, warpColumns, stages;
  };
  static constexpr Candidate kCandidates[] = {
      {128, 128, 64, 64, 64, 3}, {128, 128, 64, 64, 32, 3}, {128, 64, 64, 64, 32, 4}, {64, 128, 64, 32, 64, 4},
      {64, 64, 128, 32, 32, 3},  {64, 64, 64, 32, 32, 4},   {128, 32, 64, 32, 32, 4}, {32, 128, 64, 32, 32, 4},
      {64, 32, 128, 32, 16, 3},  {32, 64, 128, 16, 32, 3},  {32, 32, 128, 16, 16, 4}, {16, 64, 128, 16, 16, 4},
      {128, 16, 64, 32, 16, 4},  {64, 16, 128, 16, 16, 4},  {16, 32, 128, 16, 16, 4},
  };
  std::vector<TileShape> tiles;
  for (const Candidate &c : kCandidates)
    tiles.push_back({c.rows, c.columns, c.depthBytes / elementBytes(arithmetic), c.warpRows / 8, c.warpColumns / 4, c.stages, true});
  return tiles;
}

/// As many whole groups of rows per thread as come nearest.
void fitGroups(TileShape &tile, int64_t group) {
  int64_t unit = tile.usesTensorCores && group % 2 ? 2 * group : group; // two rows of a tile of tensor cores
  if (tile.threadRows % unit == 0)
    return;
  int64_t threadsDown = tile.rows / tile.threadRows;
  tile.threadRows = std::max<int64_t>(1, tile.threadRows / unit) * unit;
  tile.rows = threadsDown * tile.threadRows;
}

} // namespace

std::vector<TileShape> cuda::rankTiles(const ProductSize &size) {
  std::vector<TileShape> tiles =
      size.arithmetic == Arithmetic::MultiplyAdd ? plainCandidates() : tensorCandidates(size.arithmetic);
  for (TileShape &tile : tiles)
    fitGroups(tile, size.rowGroup);
  auto fits = [&](const TileShape &tile) {
    int64_t registers = registersPerThread(tile, size.arithmetic);
    return sharedBytes(tile, size.arithmetic) <= kSharedBytesPerBlock && registers <= kRegistersPerThread &&
           registers * tile.threads() <= kRegisters;
  };
  if (llvm::any_of(tiles, fits)) {
    llvm::erase_if(tiles, [&](const TileShape &tile) { return !fits(tile); });
  } else if (size.arithmetic != Arithmetic::MultiplyAdd) {
    // A pool's window is too large for a lane.
    ProductSize plain = size;
    plain.arithmetic = Arithmetic::MultiplyAdd;
    return rankTiles(plain);
  }
  std::multimap<double, TileShape> byCycles;
  llvm::StringSet<> seen; // groups of rows make some tiles the same
  auto add = [&](const TileShape &tile) {
    if (seen.insert(tile.describe()).second)
      byCycles.emplace(predictedCycles(tile, size), tile);
  };
  for (TileShape &tile : tiles) {
    TileShape whole = tile;
    if (size.maySplit)
      split(tile, size);
    add(tile);
    if (tile.parts > 1)
      add(whole);
  }
  auto ranked = llvm::make_second_range(byCycles);
  return {ranked.begin(), ranked.end()};
}
