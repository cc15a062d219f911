// Loops over micro-kernel tiles; see TileLoop.h.

#include "codegen/cpu/TileLoop.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

SmallVector<int64_t> codegen::tileHeights(ArrayRef<int64_t> blockRows, int64_t maxRows) {
  SmallVector<int64_t> heights;
  for (int64_t rows : blockRows) {
    if (rows <= 0)
      continue;
    int64_t tiles = (rows + maxRows - 1) / maxRows;
    heights.push_back((rows + tiles - 1) / tiles);
    heights.push_back(rows / tiles);
  }
  llvm::sort(heights, std::greater<>());
  heights.erase(llvm::unique(heights), heights.end());
  return heights;
}

/// Calls the micro-kernel of the given height, choosing among those that can occur.
static void dispatchHeight(KernelBuilder &b, MicroKernelSpec spec, const MicroKernelArgs &args,
                           Value height, ArrayRef<int64_t> heights) {
  spec.rows = heights.front();
  if (heights.size() == 1)
    return callMicroKernel(b, spec, args);
  Value isThis = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, height,
                                               b.i64(heights.front()));
  b.branch(
      isThis, [&] { callMicroKernel(b, spec, args); },
      [&] { dispatchHeight(b, spec, args, height, heights.drop_front()); });
}

void codegen::emitTiles(KernelBuilder &b, MicroKernelSpec spec, const TileBlock &block) {
  int64_t lanes = b.target.lanes(accumulatorType(spec.element).getIntOrFloatBitWidth());
  int64_t panelColumns = spec.vectors * lanes;
  Value panelElements = b.mul(b.mul(block.taps, block.run), b.i64(panelColumns));
  // Tile t of the block has base + 1 rows while t < extra, and base rows after that.
  Value tileCount = b.ceilDiv(block.rows, b.i64(b.target.tileRows()));
  Value base = b.div(block.rows, tileCount);
  Value extra = b.rem(block.rows, tileCount);

  auto emitPanel = [&](Value panel, bool masked) {
    Value column = b.mul(panel, b.i64(panelColumns));
    MicroKernelArgs args;
    args.taps = block.taps;
    args.run = block.run;
    args.tableStride = block.tableStride;
    args.panel = b.offset(block.panels, spec.element, b.mul(panel, panelElements));
    if (spec.hasBias)
      args.bias = b.offset(block.bias, spec.element, column);
    args.outStride = block.outStride;
    args.fullStride = block.fullStride;
    args.valid = masked ? b.sub(block.columns, column) : b.i64(panelColumns);
    spec.masked = masked;
    b.loop(b.i64(0), tileCount, [&](Value tile) {
      Value isTall = b.less(tile, extra);
      Value row = b.add(b.mul(tile, base), b.min(tile, extra));
      Value height = b.add(base, b.createOrFold<arith::ExtUIOp>(b.getI64Type(), isTall));
      args.table = b.offset(block.table, b.pointerType(), row);
      args.out = block.outAt(row, column);
      args.operands.clear();
      for (Value operand : pointerOperands(*spec.chain))
        args.operands.push_back(block.operandAt(operand, row, column));
      dispatchHeight(b, spec, args, height, block.heights);
    });
  };

  // Whole panels first; the last one, when the columns do not fill it, stores under a mask.
  APInt columns;
  bool isStatic = matchPattern(block.columns, m_ConstantInt(&columns));
  bool alwaysWhole = isStatic && columns.getSExtValue() % panelColumns == 0;
  Value wholePanels = b.div(block.columns, b.i64(panelColumns));
  Value endWhole = b.min(block.endPanel, wholePanels);
  if (!isStatic || columns.getSExtValue() >= panelColumns)
    b.loop(block.beginPanel, endWhole, [&](Value panel) { emitPanel(panel, false); });
  if (!alwaysWhole)
    b.loop(b.max(block.beginPanel, wholePanels), block.endPanel,
           [&](Value panel) { emitPanel(panel, true); });
}
