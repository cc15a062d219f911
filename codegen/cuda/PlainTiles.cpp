// Contraction kernels with the threads' own multiply-adds; see Contraction.h. A slice of both operands goes through registers into one
// of two stages of shared memory while the other one is multiplied; depth is outermost there, so that a thread reads its rows and its
// columns side by side.

#include "codegen/cuda/Contraction.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

void Contraction::declarePlainTiles() {
  // Rows are padded, or the threads of a warp would write to the same bank.
  constexpr int64_t kPadding = 4;
  auto declare = [&](StringRef name, StringRef across, int64_t extent, bool alongDepth) {
    int64_t padding = alongDepth ? kPadding : 0;
    std::string padded = alongDepth ? " + " + std::to_string(kPadding) : "";
    code.declareShared(sumElement(), name + "_tile[2][kBlockDepth][" + across + padded + "]", 2 * tile.depth * (extent + padding));
  };
  declare(leftName, "kBlockRows", tile.rows, leftAlongDepth);
  declare(rightName, "kBlockColumns", tile.columns, rightAlongDepth);
}

void Contraction::placeThread() {
  Value thread = code.index("thread"), threadsAcross = code.size(tile.columns / tile.threadColumns);
  threadRow = code.mul(code.div(thread, threadsAcross), code.size(tile.threadRows));
  code.declare(threadRow, "thread_row");
  threadColumn = code.mul(code.rem(thread, threadsAcross), code.size(tile.columnRun()));
  code.declare(threadColumn, "thread_column");
}

/// The lambda that loads the slice at depth `k0` into registers.
void Contraction::writeFetch() {
  std::string type = storageType(element, code.wideIndex);
  auto vectorOf = [&](const LoadPlan &plan) { return "Vector<" + type + ", " + std::to_string(plan.vector) + ">"; };
  auto writeSide = [&](const std::string &name, const LoadPlan &plan, llvm::function_ref<Source(LoadPlace)> sourceAt) {
    plan.forLoads(code, [&] {
      Source source = sourceAt(placeOf(code, plan, code.index("u")));
      std::string loaded = "load<" + std::to_string(plan.vector) + ">(" + source.pointer + " + " + code.print(source.offset) + ")";
      if (source.isInside)
        loaded = code.print(source.isInside) + " ? " + loaded + " : " + vectorOf(plan) + "{}";
      if (plan.isPartial())
        code.line("if (" + plan.guard() + ")");
      code.line((plan.isPartial() ? "  " : "") + plan.at(name + "_next") + " = " + loaded + ";");
    });
  };
  LoadPlan left = leftPlan(), right = rightPlan();
  code.blank();
  code.line("// Loads the slice that begins at depth k0; what lies outside is zero.");
  code.line(vectorOf(left) + " " + left.declarator(leftName + "_next") + ";");
  code.line(vectorOf(right) + " " + right.declarator(rightName + "_next") + ";");
  code.open("auto fetch = [&](const " + code.indexType() + " k0)");
  writeSide(leftName, left, [&](LoadPlace place) { return leftAt(place); });
  writeSide(rightName, right, [&](LoadPlace place) { return rightAt(place); });
  code.close(";");
}

/// The lambda that puts the registers into shared memory, depth outermost.
void Contraction::writeCommit() {
  bool isHalf = element.isF16() || element.isBF16();
  auto writeSide = [&](const std::string &name, const LoadPlan &plan, bool alongDepth) {
    std::string next = plan.at(name + "_next");
    auto place = [&](const std::string &along, const std::string &across) {
      return name + "_tile[stage][" + (alongDepth ? along : across) + "][" + (alongDepth ? across : along) + "]";
    };
    auto element = [&](const std::string &j) {
      std::string value = next + ".at[" + j + "]";
      return isHalf ? "to_float(" + value + ")" : value;
    };
    plan.forLoads(code, [&] {
      LoadPlace first = placeOf(code, plan, code.index("u"));
      std::string along = code.print(first.along), across = code.print(first.across);
      if (plan.isPartial())
        code.open("if (" + plan.guard() + ")");
      if (plan.vector == 1) {
        code.line(place(along, across) + " = " + element("0") + ";");
      } else if (!alongDepth && !isHalf) {
        code.line("store(&" + place(along, across) + ", " + next + ");");
      } else {
        code.line("#pragma unroll");
        code.line("for (int j = 0; j < " + Twine(plan.vector) + "; ++j)");
        code.line("  " + place(along == "0" ? "j" : along + " + j", across) + " = " + element("j") + ";");
      }
      if (plan.isPartial())
        code.close();
    });
  };
  code.blank();
  code.line("// Puts the loaded slice into shared memory, a row for each step of the depth.");
  code.open("auto commit = [&](const int stage)");
  writeSide(leftName, leftPlan(), leftAlongDepth);
  writeSide(rightName, rightPlan(), rightAlongDepth);
  code.close(";");
}

void Contraction::writeMultiply() {
  const std::string &end = depthEnd;
  int64_t run = tile.columnRun(), runs = tile.threadColumns / run;
  code.blank();
  code.line(sumType() + " sum[kRows][kColumns] = {};");
  code.line("fetch(" + depthBegin + ");");
  code.line("commit(0);");
  code.line("__syncthreads();");
  code.open("for (" + code.indexType() + " k0 = " + depthBegin + ", stage = 0; k0 < " + end + "; k0 += kBlockDepth, stage ^= 1)");
  code.line("const bool has_next = k0 + kBlockDepth < " + end + ";");
  code.line("if (has_next)");
  code.line("  fetch(k0 + kBlockDepth);");
  // A product of one slice has no loop around this one, and ptxas would move the reads of all depths to its beginning: more registers
  // than there are.
  bool isOneSlice = nn::constantOf(depth) && *nn::constantOf(depth) <= tile.depth;
  code.line(isOneSlice ? "#pragma unroll 4" : "#pragma unroll");
  code.open("for (int k = 0; k < kBlockDepth; ++k)");
  code.line(sumType() + " left[kRows], right[kColumns];");
  code.line("#pragma unroll");
  code.line("for (int i = 0; i < kRows; ++i)");
  code.line("  left[i] = " + leftName + "_tile[stage][k][thread_row + i];");
  code.line("#pragma unroll");
  code.line("for (int c = 0; c < kColumns; ++c)");
  // Runs of four columns stand a whole row of threads apart: the threads of a warp read neighbouring banks.
  std::string column = runs == 1 ? "c" : "c / " + std::to_string(run) + " * " + std::to_string(tile.columns / runs) + " + c % " + std::to_string(run);
  code.line("  right[c] = " + rightName + "_tile[stage][k][thread_column + " + column + "];");
  code.line("#pragma unroll");
  code.open("for (int i = 0; i < kRows; ++i)");
  code.line("#pragma unroll");
  code.line("for (int c = 0; c < kColumns; ++c)");
  code.line("  sum[i][c] += left[i] * right[c];");
  code.close();
  code.close();
  code.open("if (has_next)");
  code.line("commit(stage ^ 1);");
  code.line("__syncthreads();");
  code.close();
  code.close();
  code.blank();
}
