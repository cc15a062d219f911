// Writes contraction kernels; see Contraction.h.

#include "codegen/cuda/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

Contraction::Contraction(KernelCode &code, nn::AnchoredBody body) : code(code), body(body) {
  code.reserve({"i", "u", "c", "g", "t", "k0", "stage", "thread", "sum", "left", "right"});
}

Type Contraction::sumElement() const {
  return element.isF16() || element.isBF16() ? Type(Float32Type::get(element.getContext())) : element;
}

std::string Contraction::sumType() const { return cppType(sumElement(), code.wideIndex); }

/// The number that a plan is made for where a dimension is dynamic: named dims are batches as a rule, and small.
static int64_t typical(nn::Dim dim) {
  constexpr int64_t kTypical = 8;
  llvm::DenseMap<AffineExpr, AffineExpr> map;
  dim.walk([&](AffineExpr expr) {
    if (isa<AffineSymbolExpr>(expr))
      map[expr] = getAffineConstantExpr(kTypical, dim.getContext());
  });
  return nn::constantOf(dim.replace(map)).value_or(kTypical);
}

void Contraction::planWork() {
  tile = planTile(typical(rows), typical(columns), typical(depth), typical(products), rowGroup);
  storeVector = std::min(storeVector, tile.columnRun());
}

EmittedKernel Contraction::emit() {
  planWork();
  std::string block = std::to_string(tile.rows) + " x " + std::to_string(tile.columns);
  std::string thread = std::to_string(tile.threadRows) + " x " + std::to_string(tile.threadColumns);
  code.note(formula);
  code.note("a block computes " + block + " of the result as a matrix, a thread " + thread);
  declareShared();
  writeLoads();
  writeFetch();
  writeCommit();
  writeMultiply();
  storeTile();
  CudaLaunch launch;
  launch.threads = tile.threads();
  launch.gridX = rows.ceilDiv(tile.rows);
  launch.gridY = columns.ceilDiv(tile.columns);
  launch.gridZ = products;
  return code.finish(launch);
}

void Contraction::declareShared() {
  auto number = [](int64_t value) { return std::to_string(value); };
  std::string type = storageType(element, code.wideIndex);
  code.line("constexpr int kThreads = " + number(tile.threads()) + ";");
  code.line("constexpr int kBlockRows = " + number(tile.rows) + ", kBlockColumns = " + number(tile.columns) +
            ", kBlockDepth = " + number(tile.depth) + ";");
  code.line("constexpr int kRows = " + number(tile.threadRows) + ", kColumns = " + number(tile.threadColumns) + ";");
  // Rows are padded, or the threads of a warp would write to the same bank.
  code.line("__shared__ __align__(16) " + sumType() + " " + leftName + "_tile[2][kBlockDepth][kBlockRows + 4];");
  code.line("__shared__ __align__(16) " + sumType() + " " + rightName + "_tile[2][kBlockDepth][kBlockColumns" +
            (rightAlongDepth ? " + 4" : "") + "];");
  code.blank();
  code.line("const int thread = threadIdx.x;");
  firstRow = code.mul(code.index("(" + code.indexType() + ")blockIdx.x"), code.size(tile.rows));
  code.declare(firstRow, "first_row");
  firstColumn = nn::constantOf(columns) && *nn::constantOf(columns) <= tile.columns
                    ? code.size(0)
                    : code.mul(code.index("(" + code.indexType() + ")blockIdx.y"), code.size(tile.columns));
  code.declare(firstColumn, "first_column");
  int64_t threadsAcross = tile.columns / tile.threadColumns;
  threadRow = code.mul(code.div(code.index("thread"), code.size(threadsAcross)), code.size(tile.threadRows));
  code.declare(threadRow, "thread_row");
  threadColumn = code.mul(code.rem(code.index("thread"), code.size(threadsAcross)), code.size(tile.columnRun()));
  code.declare(threadColumn, "thread_column");
  beginProduct(nn::constantOf(products) == 1 ? code.size(0) : code.index("(" + code.indexType() + ")blockIdx.z"));
}

namespace {

/// How a slice of `along` x `across` elements is loaded: units of `vector` neighbours along `along`, one after another to the threads.
struct LoadPlan {
  LoadPlan(int64_t along, int64_t across, int64_t vector, int64_t threads)
      : vector(vector), unitsAlong(along / vector), units(unitsAlong * across), threads(threads),
        perThread((units + threads - 1) / threads) {}
  int64_t vector, unitsAlong, units, threads, perThread;
  /// Positions along do not depend on the number of the load.
  bool isRegular() const { return threads % unitsAlong == 0; }
  bool isPartial() const { return units % threads != 0; }
};

struct LoadPlace {
  Value along, across;
};

} // namespace

/// Place of load `u` of the thread within its slice.
static LoadPlace placeOf(KernelCode &code, const LoadPlan &plan, Value u) {
  Value thread = code.index("thread"), unitsAlong = code.size(plan.unitsAlong);
  if (plan.isRegular()) {
    Value across = code.div(thread, unitsAlong);
    if (plan.perThread > 1)
      across = code.add(across, code.mul(u, code.size(plan.threads / plan.unitsAlong)));
    return {code.mul(code.rem(thread, unitsAlong), code.size(plan.vector)), across};
  }
  Value unit = plan.perThread > 1 ? code.add(thread, code.mul(u, code.size(plan.threads))) : thread;
  return {code.mul(code.rem(unit, unitsAlong), code.size(plan.vector)), code.div(unit, unitsAlong)};
}

static LoadPlan leftPlan(const TileShape &tile, int64_t vector) {
  return LoadPlan(tile.depth, tile.rows, vector, tile.threads());
}
static LoadPlan rightPlan(const TileShape &tile, int64_t vector, bool alongDepth) {
  return alongDepth ? LoadPlan(tile.depth, tile.columns, vector, tile.threads())
                    : LoadPlan(tile.columns, tile.depth, vector, tile.threads());
}

/// What a thread knows of the rows that it loads, before the loop over the depth.
void Contraction::writeLoads() {
  LoadPlan plan = leftPlan(tile, leftVector);
  std::string count = std::to_string(plan.perThread);
  code.blank();
  code.line("// The rows of " + leftName + " that this thread loads.");
  Value u = code.index("u");
  Value row = code.add(firstRow, placeOf(code, plan, u).across);
  Value isRow = code.less(row, code.dim(rows));
  Value clipped = code.min(row, code.sub(code.dim(rows), code.size(1)));
  SmallVector<std::pair<std::string, Value>> values;
  std::string body = code.capture([&] {
    values = rowValues(clipped);
    if (!(nn::constantOf(rows) && *nn::constantOf(rows) % tile.rows == 0))
      values.push_back({"is_row", isRow});
    for (auto &[name, value] : values)
      code.line(name + "[u] = " + code.print(value) + ";");
  });
  for (auto &[name, value] : values)
    code.line(cppType(value.getType(), code.wideIndex) + " " + name + "[" + count + "];");
  code.line("#pragma unroll");
  code.open("for (int u = 0; u < " + count + "; ++u)");
  code.source.append(body);
  code.close();
  for (auto &[name, value] : values)
    arrays.push_back({name, code.atom(value.getType(), name + "[u]")});
}

/// The lambda that loads the slice at depth `k0` into registers.
void Contraction::writeFetch() {
  std::string type = storageType(element, code.wideIndex);
  auto writeSide = [&](StringRef name, const LoadPlan &plan, llvm::function_ref<Source(LoadPlace)> sourceAt) {
    code.line("#pragma unroll");
    code.open("for (int u = 0; u < " + Twine(plan.perThread) + "; ++u)");
    Source source = sourceAt(placeOf(code, plan, code.index("u")));
    std::string place = source.pointer + " + " + code.print(source.offset);
    std::string vector = std::to_string(plan.vector);
    std::string loaded = "load<" + vector + ">(" + place + ")";
    if (source.isInside)
      loaded = code.print(source.isInside) + " ? " + loaded + " : Vector<" + type + ", " + vector + ">{}";
    if (plan.isPartial())
      code.line("if (thread + u * kThreads < " + Twine(plan.units) + ")");
    code.line((plan.isPartial() ? "  " : "") + name + "_next[u] = " + loaded + ";");
    code.close();
  };
  LoadPlan left = leftPlan(tile, leftVector), right = rightPlan(tile, rightVector, rightAlongDepth);
  code.blank();
  code.line("// Loads the slice that begins at depth k0; what lies outside is zero.");
  code.line("Vector<" + type + ", " + Twine(left.vector) + "> " + leftName + "_next[" + Twine(left.perThread) + "];");
  code.line("Vector<" + type + ", " + Twine(right.vector) + "> " + rightName + "_next[" + Twine(right.perThread) + "];");
  code.open("auto fetch = [&](const " + code.indexType() + " k0)");
  Value k0 = code.index("k0");
  auto both = [&](Value a, Value b) { return a && b ? arith::AndIOp::create(code, a, b).getResult() : a ? a : b; };
  bool endsWhole = nn::constantOf(depth) && *nn::constantOf(depth) % tile.depth == 0;
  auto isDepth = [&](Value k) { return endsWhole ? Value() : code.less(k, code.dim(depth)); };
  writeSide(leftName, left, [&](LoadPlace place) {
    Value k = code.add(k0, place.along);
    code.declare(k, "k");
    SmallVector<Value> values;
    Value isRow;
    for (auto &[name, value] : arrays)
      if (name == "is_row")
        isRow = value;
      else
        values.push_back(value);
    Source source = leftSource(k, values);
    source.isInside = both(both(isRow, isDepth(k)), source.isInside);
    return source;
  });
  bool columnsWhole = nn::constantOf(columns) && *nn::constantOf(columns) % tile.columns == 0;
  writeSide(rightName, right, [&](LoadPlace place) {
    Value k = code.add(k0, rightAlongDepth ? place.along : place.across);
    Value column = code.add(firstColumn, rightAlongDepth ? place.across : place.along);
    code.declare(k, "k");
    Value isColumn = columnsWhole ? Value() : code.less(column, code.dim(columns));
    Source source = rightSource(k, column);
    source.isInside = both(both(isDepth(k), isColumn), source.isInside);
    return source;
  });
  code.close(";");
}

/// The lambda that puts the registers into shared memory, depth outermost.
void Contraction::writeCommit() {
  std::string convert = element.isF16() || element.isBF16() ? "to_float(" : "";
  auto writeSide = [&](StringRef name, const LoadPlan &plan, bool alongDepth) {
    code.line("#pragma unroll");
    code.open("for (int u = 0; u < " + Twine(plan.perThread) + "; ++u)");
    LoadPlace place = placeOf(code, plan, code.index("u"));
    std::string along = code.print(place.along), across = code.print(place.across);
    std::string guard = plan.isPartial() ? "if (thread + u * kThreads < " + std::to_string(plan.units) + ") " : "";
    std::string value = convert + name.str() + "_next[u].at[j]" + (convert.empty() ? "" : ")");
    std::string j = plan.vector == 1 ? "" : along == "0" ? "j" : along + " + j";
    if (plan.vector == 1) {
      value = convert + name.str() + "_next[u].at[0]" + (convert.empty() ? "" : ")");
      code.line(guard + name + "_tile[stage][" + (alongDepth ? along : across) + "][" + (alongDepth ? across : along) + "] = " + value + ";");
    } else if (!alongDepth && convert.empty()) {
      code.line(guard + "store(&" + name + "_tile[stage][" + across + "][" + along + "], " + name + "_next[u]);");
    } else {
      if (!guard.empty())
        code.line(StringRef(guard).rtrim());
      code.line("#pragma unroll");
      code.line("for (int j = 0; j < " + Twine(plan.vector) + "; ++j)");
      code.line("  " + name + "_tile[stage][" + (alongDepth ? j : across) + "][" + (alongDepth ? across : j) + "] = " + value + ";");
    }
    code.close();
  };
  code.blank();
  code.line("// Puts the loaded slice into shared memory, a row for each step of the depth.");
  code.open("auto commit = [&](const int stage)");
  writeSide(leftName, leftPlan(tile, leftVector), true);
  writeSide(rightName, rightPlan(tile, rightVector, rightAlongDepth), rightAlongDepth);
  code.close(";");
}

void Contraction::writeMultiply() {
  std::string end = code.print(code.dim(depth));
  int64_t run = tile.columnRun(), runs = tile.threadColumns / run;
  code.blank();
  code.line(sumType() + " sum[kRows][kColumns] = {};");
  code.line("fetch(0);");
  code.line("commit(0);");
  code.line("__syncthreads();");
  code.open("for (" + code.indexType() + " k0 = 0, stage = 0; k0 < " + end + "; k0 += kBlockDepth, stage ^= 1)");
  code.line("const bool has_next = k0 + kBlockDepth < " + end + ";");
  code.line("if (has_next)");
  code.line("  fetch(k0 + kBlockDepth);");
  code.line("#pragma unroll");
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

Value Contraction::applyChain(const nn::Chain &chain, RankedTensorType space, unsigned channelDim, Value root, Value row,
                              Value channel) {
  Value channels = code.dim(nn::dimOf(space, channelDim));
  Value place = code.add(code.mul(row, channels), channel);
  Value value = chain.apply(code, code.getLoc(), root, [&](Value operand) -> Value {
    if (nn::splatConstant(operand))
      return code.read(operand, SmallVector<Value>(cast<RankedTensorType>(operand.getType()).getRank(), code.size(0)));
    auto type = cast<RankedTensorType>(operand.getType());
    std::string pointer = code.pointerOf(operand);
    switch (*nn::accessOf(type, space, channelDim)) {
    case nn::Access::Scalar:
      return code.readMemory(type.getElementType(), pointer, code.size(0));
    case nn::Access::PerChannel:
      return code.readMemory(type.getElementType(), pointer, channel, 0);
    case nn::Access::Full:
      return code.readMemory(type.getElementType(), pointer, place, 0);
    }
    llvm_unreachable("every access is handled");
  });
  if (value.getType().isF16() || value.getType().isBF16())
    value = arith::ExtFOp::create(code, code.getF32Type(), value);
  return value;
}

void Contraction::storeColumns(Type stored, const Memory &result, Value place, function_ref<Value()> value) {
  if (storeVector == 1) {
    code.line(result.pointer + "[" + code.print(place) + "] = " + code.stored(stored, value()) + ";");
    return;
  }
  std::string count = std::to_string(storeVector), name = code.freshName(result.pointer + "_v");
  Value lane = value();
  code.line("Vector<" + storageType(stored, code.wideIndex) + ", " + count + "> " + name + ";");
  code.line("#pragma unroll");
  code.open("for (int j = 0; j < " + count + "; ++j)");
  std::string text = code.stored(stored, lane);
  code.line(name + ".at[j] = " + text + ";");
  code.close();
  code.line("store(" + result.pointer + " + " + code.print(place) + ", " + name + ");");
}

void Contraction::nameChainOperands(const nn::Chain &chain, RankedTensorType space, unsigned channelDim) {
  for (Value operand : chain.operands()) {
    if (nn::splatConstant(operand))
      continue;
    bool isFull = nn::accessOf(cast<RankedTensorType>(operand.getType()), space, channelDim) == nn::Access::Full;
    code.nameOperand(operand, code.freshName(isFull ? "residual" : "factor"));
  }
}

Value Contraction::rowOf(Value i) { return code.add(code.add(firstRow, threadRow), i); }

void Contraction::forColumns(function_ref<void(Value, Value)> body) {
  int64_t run = tile.columnRun(), runs = tile.threadColumns / run;
  bool isWhole = nn::constantOf(columns) && *nn::constantOf(columns) % tile.columns == 0;
  auto guarded = [&](Value column, Value sumColumn) {
    if (!isWhole)
      code.open("if (" + code.print(code.less(column, code.dim(columns))) + ")");
    body(column, sumColumn);
    if (!isWhole)
      code.close();
  };
  Value begin = code.add(firstColumn, threadColumn);
  // A run is stored at once, or column by column.
  if (storeVector == run) {
    if (runs == 1)
      return guarded(begin, code.size(0));
    code.line("#pragma unroll");
    code.open("for (int g = 0; g < " + Twine(runs) + "; ++g)");
    Value column = code.add(begin, code.mul(code.index("g"), code.size(tile.columns / runs)));
    code.declare(column, "column");
    guarded(column, code.mul(code.index("g"), code.size(run)));
    code.close();
    return;
  }
  code.line("#pragma unroll");
  code.open("for (int c = 0; c < kColumns; ++c)");
  Value c = code.index("c");
  Value place = runs == 1 ? c
                          : code.add(code.mul(code.div(c, code.size(run)), code.size(tile.columns / runs)), code.rem(c, code.size(run)));
  Value column = code.add(begin, place);
  code.declare(column, "column");
  guarded(column, c);
  code.close();
}
