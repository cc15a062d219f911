// Contraction kernels on tensor cores; see Contraction.h. A block keeps kStages slices of both operands in shared memory, as they
// are in global memory: copies that bypass the registers bring the next ones while warps multiply the oldest.
//
// A warp computes warpRows x warpColumns of the block's tile as tiles of 16 x 8, of which each lane holds two rows and two columns
// (device/nncc_device.cuh). Behind the loop four lanes exchange columns, so that every lane stores runs of neighbours; with a pool
// in the kernel, rows are put into the slice in such an order that the rows of a lane are whole windows.

#include "codegen/cuda/Contraction.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

/// Elements in 16 bytes: a row of the matrices that a warp loads.
static int64_t runOf(Type element) { return 128 / element.getIntOrFloatBitWidth(); }

void Contraction::declareTensorTiles() {
  auto declare = [&](const std::string &name, const std::string &rows, const std::string &columns, StringRef meaning) {
    int64_t across = name == leftName ? tile.rows : tile.columns;
    code.declareShared(element, name + "_tile[kStages][" + rows + " * " + columns + "]", tile.stages * across * tile.depth, true, meaning);
  };
  if (leftAlongDepth)
    declare(leftName, "kBlockRows", "kBlockDepth", "[row][depth], swizzled");
  else
    declare(leftName, "kBlockDepth", "kBlockRows", "[depth][row], swizzled");
  if (rightAlongDepth)
    declare(rightName, "kBlockColumns", "kBlockDepth", "[column][depth], swizzled");
  else
    declare(rightName, "kBlockDepth", "kBlockColumns", "[depth][column], swizzled");
}

void Contraction::placeLane() {
  code.line("const int lane = thread % 32, warp = thread / 32;");
  Value lane = code.index("lane"), warp = code.index("warp"), four = code.size(4);
  warpRow = code.mul(code.div(warp, code.size(tile.warpsAcross())), code.size(tile.warpRows()));
  code.declare(warpRow, "warp_row");
  warpColumn = code.mul(code.rem(warp, code.size(tile.warpsAcross())), code.size(tile.warpColumns()));
  code.declare(warpColumn, "warp_column");
  int64_t rowStep = rowGroup == 1 ? 1 : tile.threadRows;
  threadRow = code.add(warpRow, code.mul(code.div(lane, four), code.size(rowStep)));
  Value inWarp = code.mul(code.rem(lane, four), code.size(8));
  if (tile.columnRun() == 4)
    inWarp = code.add(code.mul(code.rem(lane, code.size(2)), code.size(8)),
                      code.mul(code.div(code.rem(lane, four), code.size(2)), four));
  threadColumn = code.add(warpColumn, inWarp);
  declareLaneRow();
}

/// Where a lane points load_matrices: lanes 0-7 at the rows of the first matrix of 8 x 16 bytes, 8-15 at those of the second, ...
void Contraction::declareLaneRow() {
  Value lane = code.index("lane"), eight = code.size(8), sixteen = code.size(16), run = code.size(runOf(element));
  auto declare = [&](LanePlace &place, Value across, Value along, StringRef acrossName, StringRef alongName) {
    place = {across, along};
    code.declare(across, acrossName);
    code.declare(along, alongName);
  };
  // The upper half comes with both of its quarters before the lower half.
  Value byHalves = code.add(code.mul(code.div(lane, sixteen), eight), code.rem(lane, eight));
  Value quarter = code.rem(code.div(lane, eight), code.size(2));
  bool isFloat = runOf(element) == 4; // read word by word where it lies along rows or columns
  if (leftAlongDepth)
    // Upper left, lower left, upper right, lower right quarter of 16 rows x two runs of the depth.
    declare(leftLane, code.rem(lane, sixteen), code.mul(code.div(lane, sixteen), run), "lane_row", "lane_run");
  else if (!isFloat)
    declare(leftLane, byHalves, code.mul(quarter, eight), "lane_depth", "lane_row");
  if (rightAlongDepth) // both runs of the first 8 columns, then those of the next
    declare(rightLane, byHalves, code.mul(quarter, run), "lane_column", "column_run");
  else if (leftAlongDepth)
    rightLane = {leftLane.across, code.mul(code.div(lane, sixteen), eight)};
  else if (!isFloat)
    declare(rightLane, code.rem(lane, sixteen), code.mul(code.div(lane, sixteen), eight), "column_depth", "lane_column");
}

Value Contraction::rowInBlock(Value across) {
  if (!tile.usesTensorCores || rowGroup == 1)
    return across;
  // Tile row 8 * i + g of a warp holds the lane's row i, where g is the lane's place: row g * kRows + i of the result.
  Value warpRows = code.size(tile.warpRows()), eight = code.size(8), inWarp = code.rem(across, warpRows);
  Value warpBegin = code.mul(code.div(across, warpRows), warpRows);
  return code.add(code.add(warpBegin, code.mul(code.rem(inWarp, eight), code.size(tile.threadRows))), code.div(inWarp, eight));
}

/// Where in its slice an element lies.
std::string Contraction::placeInTile(StringRef name, bool alongDepth, Value row, Value column) {
  std::string width = alongDepth ? "kBlockDepth" : name == leftName ? "kBlockRows" : "kBlockColumns";
  // Words of floats that lie along the columns are read eight columns of four rows at a time.
  if (!alongDepth && element.isF32())
    width += ", 32";
  return "swizzled<" + storageType(element, code.wideIndex) + ", " + width + ">(" + code.print(row) + ", " + code.print(column) + ")";
}

/// The address of an element of the slice at hand.
std::string Contraction::tileAt(StringRef name, bool alongDepth, Value row, Value column) {
  return name.str() + "_tile[stage] + " + placeInTile(name, alongDepth, row, column);
}

/// The lambda that starts the copies of a slice.
void Contraction::writeCopies() {
  auto writeSide = [&](StringRef name, const LoadPlan &plan, bool alongDepth, function_ref<Source(LoadPlace)> sourceAt) {
    plan.forLoads(code, [&] {
      LoadPlace place = placeOf(code, plan, code.index("u"));
      Source source = sourceAt(place);
      std::string from = source.pointer + " + " + code.print(source.offset);
      std::string condition = source.isInside ? ", " + code.print(source.isInside) : "";
      std::string to = tileAt(name, alongDepth, place.across, place.along);
      if (plan.isPartial())
        code.line("if (" + plan.guard() + ")");
      std::string indent = plan.isPartial() ? "  " : "";
      code.line(indent + "copy_async<" + Twine(plan.vector) + ">(" + to + ",");
      code.line(indent + "              " + from + condition + ");");
    });
  };
  code.blank();
  code.line("// Starts to copy the slice that begins at depth k0 into a stage; what lies outside becomes zero.");
  code.open("auto fetch = [&](const " + code.indexType() + " k0, const int stage)");
  writeSide(leftName, leftPlan(), leftAlongDepth, [&](LoadPlace place) { return leftAt(place); });
  writeSide(rightName, rightPlan(), rightAlongDepth, [&](LoadPlace place) { return rightAt(place); });
  code.close(";");
}

void Contraction::writeTensorMultiply() {
  const std::string &begin = depthBegin, &end = depthEnd;
  std::string first = begin == "0" ? "s * kBlockDepth" : begin + " + s * kBlockDepth";
  code.blank();
  code.line("float sum[kRows][kColumns] = {};");
  code.open("for (int s = 0; s < kStages - 1; ++s)");
  code.line("if (" + first + " < " + end + ")");
  code.line("  fetch(" + first + ", s);");
  code.line("commit_copies();");
  code.close();
  code.open("for (" + code.indexType() + " k0 = " + begin + ", stage = 0; k0 < " + end + "; k0 += kBlockDepth)");
  code.line("// The slice has come, and no thread reads the one before it any more: its place is free for the next.");
  code.line("wait_for_copies<kStages - 2>();");
  code.line("__syncthreads();");
  code.line("if (k0 + (kStages - 1) * kBlockDepth < " + end + ")");
  code.line("  fetch(k0 + (kStages - 1) * kBlockDepth, stage == 0 ? kStages - 1 : stage - 1);");
  code.line("commit_copies();");
  code.line("#pragma unroll");
  code.open("for (int k = 0; k < kBlockDepth; k += " + Twine(2 * runOf(element)) + ")");
  writeStep();
  code.close();
  code.line("stage = stage == kStages - 1 ? 0 : stage + 1;");
  code.close();
  code.line("#pragma unroll");
  code.line("for (int i = 0; i < kRows; ++i)");
  code.line("  gather_columns(sum[i]);");
  code.blank();
}

/// All tiles of the warp, one step of the depth.
void Contraction::writeStep() {
  int64_t run = runOf(element);
  std::string step = std::to_string(2 * run);
  Value k = code.index("k");
  auto along = [&](StringRef index, Value first) { return code.add(first, code.mul(code.index(index), code.size(16))); };
  auto unrolled = [&](StringRef loop) {
    code.line(loop.take_while(llvm::isSpace) + "#pragma unroll");
    code.line(loop);
  };
  code.line("unsigned left[kRows / 2][4];     // [4]: 16 x " + step);
  code.line("unsigned right[kColumns / 4][4]; // [4]: two of " + step + " x 8");
  // Words of floats along rows or columns, one by one: only halves can be transposed on the way. Word j of the four stands at
  // these eights of rows or columns, and fours of depth.
  auto readWords = [&](StringRef to, StringRef name, Value first, Value eights, Value fours) {
    Value lane = code.index("lane"), four = code.size(4);
    Value depth = code.add(code.add(k, code.mul(fours, four)), code.rem(lane, four));
    Value across = code.add(first, code.add(code.mul(eights, code.size(8)), code.div(lane, four)));
    unrolled("  for (int j = 0; j < 4; ++j)");
    code.line("    " + to + "[j] = __float_as_uint(" + name + "_tile[stage][" + placeInTile(name, false, depth, across) + "]);");
  };
  Value j = code.index("j"), two = code.size(2);
  unrolled("for (int i = 0; i < kRows / 2; ++i)");
  Value rows = along("i", warpRow);
  if (leftAlongDepth) {
    std::string from = tileAt(leftName, true, code.add(rows, leftLane.across), code.add(k, leftLane.along));
    code.line("  load_matrices(left[i], " + from + ");");
  } else if (run == 8) {
    std::string from = tileAt(leftName, false, code.add(k, leftLane.across), code.add(rows, leftLane.along));
    code.line("  load_matrices_transposed(left[i], " + from + ");");
  } else {
    readWords("left[i]", leftName, rows, code.rem(j, two), code.div(j, two));
  }
  unrolled("for (int c = 0; c < kColumns / 4; ++c)");
  Value columns = along("c", warpColumn);
  if (rightAlongDepth) {
    std::string from = tileAt(rightName, true, code.add(columns, rightLane.across), code.add(k, rightLane.along));
    code.line("  load_matrices(right[c], " + from + ");");
  } else if (run == 8) {
    std::string from = tileAt(rightName, false, code.add(k, rightLane.across), code.add(columns, rightLane.along));
    code.line("  load_matrices_transposed(right[c], " + from + ");");
  } else {
    readWords("right[c]", rightName, columns, code.div(j, two), code.rem(j, two));
  }
  std::string kind = storageType(element, code.wideIndex);
  if (arithmetic() != Arithmetic::Half)
    kind = arithmetic() == Arithmetic::Tf32 ? "tf32" : "tf32x3";
  unrolled("for (int i = 0; i < kRows / 2; ++i)");
  unrolled("  for (int c = 0; c < kColumns / 2; ++c) // 16 x 8 += 16 x " + step + " times " + step + " x 8");
  code.line("    multiply_add<" + kind + ">(sum[2 * i] + 2 * c, sum[2 * i + 1] + 2 * c, left[i], right[c / 2] + c % 2 * 2);");
}
