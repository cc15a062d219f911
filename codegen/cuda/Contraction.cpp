// Writes contraction kernels; see Contraction.h.

#include "codegen/cuda/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

Contraction::Contraction(KernelCode &code, nn::AnchoredBody body) : code(code), body(body) {
  code.reserve({"i", "u", "c", "g", "t", "k0", "step", "stage", "next", "thread", "lane", "sum", "left", "right"});
}

Type Contraction::sumElement() const {
  return element.isF16() || element.isBF16() ? Type(Float32Type::get(element.getContext())) : element;
}

std::string Contraction::sumType() const { return cppType(sumElement(), code.wideIndex); }

int64_t Contraction::typical(nn::Dim dim) const {
  llvm::DenseMap<AffineExpr, AffineExpr> map;
  dim.walk([&](AffineExpr expr) {
    if (isa<AffineSymbolExpr>(expr))
      map[expr] = getAffineConstantExpr(typicalDim, dim.getContext());
  });
  return nn::constantOf(dim.replace(map)).value_or(typicalDim);
}

Arithmetic Contraction::arithmetic() const {
  if (element.isF16() || element.isBF16())
    return Arithmetic::Half;
  if (!element.isF32() || code.options.fp32 == Fp32::Exact)
    return Arithmetic::MultiplyAdd;
  return code.options.fp32 == Fp32::Tf32 ? Arithmetic::Tf32 : Arithmetic::Tf32x3;
}

int64_t Contraction::vectorThatDivides(ArrayRef<nn::Dim> extents) const {
  int64_t vector = arithmetic() == Arithmetic::Half ? 8 : 4;
  for (nn::Dim extent : extents)
    while (extent.getLargestKnownDivisor() % vector != 0)
      vector /= 2;
  return vector;
}

void Contraction::planWork() {
  bool maySplit = sumElement().isF32();
  std::vector<TileShape> tiles =
      rankTiles({typical(rows), typical(columns), typical(depth), typical(products), rowGroup, maySplit, arithmetic()});
  size_t rank = std::min<size_t>(code.options.tileRank, tiles.size() - 1);
  tile = tiles[rank];
  tilesBehind = tiles.size() - 1 - rank;
  storeVector = std::min(storeVector, tile.columnRun());
}

static rt::cuda::MathUnit mathUnitOf(Arithmetic arithmetic) {
  switch (arithmetic) {
  case Arithmetic::MultiplyAdd:
    return rt::cuda::MathUnit::Fp32;
  case Arithmetic::Half:
    return rt::cuda::MathUnit::Half;
  case Arithmetic::Tf32:
    return rt::cuda::MathUnit::Tf32;
  case Arithmetic::Tf32x3:
    return rt::cuda::MathUnit::Tf32x3;
  }
  llvm_unreachable("every arithmetic is handled");
}

EmittedKernel Contraction::emit() {
  planWork();
  auto area = [](int64_t rows, int64_t columns) { return std::to_string(rows) + " x " + std::to_string(columns); };
  code.note(formula);
  code.note("a block computes " + area(tile.rows, tile.columns) + " of the result as a matrix, a " +
            (tile.usesTensorCores ? "warp " + area(tile.warpRows(), tile.warpColumns()) + " on tensor cores"
                                  : "thread " + area(tile.threadRows, tile.threadColumns)));
  beginBlock();
  writeRowValues();
  code.registers = registersNeeded();
  if (tile.usesTensorCores) {
    writeCopies();
    writeTensorMultiply();
  } else {
    writeFetch();
    writeCommit();
    writeMultiply();
  }
  if (tile.parts > 1)
    storeParts();
  else
    storeTile();
  CudaLaunch launch;
  launch.threads = tile.threads();
  launch.gridX = rows.ceilDiv(tile.rows);
  launch.gridY = columns.ceilDiv(tile.columns);
  launch.gridZ = products * tile.parts;
  if (isFlatGrid()) {
    launch.gridX = launch.gridX * launch.gridY * launch.gridZ;
    launch.gridY = launch.gridZ = nn::Dim();
  }
  EmittedKernel emitted = code.finish(launch);
  emitted.tile = tile.describe();
  emitted.tilesBehind = tilesBehind;
  emitted.workspaceElements = rows * columns * products * tile.parts;
  // What a thread, or on tensor cores a warp, reads of both operands for the products of its tile.
  double rowsTogether = tile.usesTensorCores ? tile.warpRows() : tile.threadRows;
  double columnsTogether = tile.usesTensorCores ? tile.warpColumns() : tile.threadColumns;
  double wordsPerMultiplyAdd = (1 / rowsTogether + 1 / columnsTogether) * (arithmetic() == Arithmetic::Half ? 0.5 : 1);
  nn::Dim depthOfBlock = tile.parts > 1 ? depthOfPart() : depth;
  emitted.product = {tile.rows, tile.columns, tile.depth, depthOfBlock, wordsPerMultiplyAdd, mathUnitOf(arithmetic())};
  return emitted;
}

/// What the plan counts, and what it cannot know: wider numbers, the rows that a thread loads, and the slice on its way.
int64_t Contraction::registersNeeded() {
  int64_t needed = registersPerThread(tile, arithmetic());
  if (element.isF64())
    needed += tile.threadRows * tile.threadColumns + tile.threadRows + tile.threadColumns;
  needed += static_cast<int64_t>(arrays.size()) * leftPlan().perThread * (code.wideIndex ? 2 : 1);
  int64_t words = std::max<int64_t>(element.getIntOrFloatBitWidth() / 32, 1);
  if (!tile.usesTensorCores)
    needed += (leftPlan().perThread * leftPlan().vector + rightPlan().perThread * rightPlan().vector) * words;
  // Elements that come one by one have an address and a condition each.
  constexpr int64_t kScattered = 32;
  if (leftPlan().vector == 1 || rightPlan().vector == 1)
    needed += kScattered;
  // Before sm_80 there are no tensor cores for bf16: the multiply-adds in their stead keep operands of all lanes.
  constexpr int64_t kWithoutTensorCores = 96;
  return element.isBF16() ? needed + kWithoutTensorCores : needed;
}

/// Shared memory, and where the block and the thread stand.
void Contraction::beginBlock() {
  auto number = [](int64_t value) { return std::to_string(value); };
  auto usesThreadCount = [](const LoadPlan &plan) { return plan.isPartial() && plan.isLoop(); };
  if (usesThreadCount(leftPlan()) || usesThreadCount(rightPlan()))
    code.line("constexpr int kThreads = " + number(tile.threads()) + ";");
  code.line("constexpr int kBlockRows = " + number(tile.rows) + ", kBlockColumns = " + number(tile.columns) +
            ", kBlockDepth = " + number(tile.depth) + (tile.usesTensorCores ? ", kStages = " + number(tile.stages) : "") + ";");
  code.line("constexpr int kRows = " + number(tile.threadRows) + ", kColumns = " + number(tile.threadColumns) + "; // sums of a thread");
  if (tile.usesTensorCores)
    declareTensorTiles();
  else
    declarePlainTiles();
  code.blank();
  code.line("const int thread = threadIdx.x;");
  auto blockIndex = [&](const char *axis) {
    return code.index("(" + code.indexType() + ")blockIdx." + axis);
  };
  Value rowTile = blockIndex("x"), columnTile = blockIndex("y"), z = blockIndex("z");
  if (isFlatGrid()) {
    Value down = code.dim(rows.ceilDiv(tile.rows)), across = code.dim(columns.ceilDiv(tile.columns));
    Value rest = code.div(rowTile, down);
    columnTile = code.rem(rest, across);
    z = code.div(rest, across);
    rowTile = code.rem(rowTile, down);
  }
  firstRow = code.mul(rowTile, code.size(tile.rows));
  code.declare(firstRow, "first_row");
  bool isOneTile = nn::constantOf(columns) && *nn::constantOf(columns) <= tile.columns;
  firstColumn = isOneTile ? code.size(0) : code.mul(columnTile, code.size(tile.columns));
  code.declare(firstColumn, "first_column");
  if (tile.usesTensorCores)
    placeLane();
  else
    placeThread();
  depthEnd = code.print(code.dim(depth));
  product = nn::constantOf(products) == 1 ? code.size(0) : code.div(z, code.size(tile.parts));
  if (tile.parts > 1) {
    code.workspace = KernelCode::Workspace::Written;
    code.note("each of " + Twine(tile.parts) + " parts of the depth has blocks of its own; another kernel adds up their sums");
    part = nn::constantOf(products) == 1 ? z : code.rem(z, code.size(tile.parts));
    code.declare(part, "part");
    Value length = code.dim(depthOfPart());
    if (!nn::constantOf(depth))
      code.declare(length, "part_depth");
    Value begin = code.mul(part, length);
    depthBegin = code.declare(begin, "k_begin");
    depthEnd = code.declare(code.min(code.add(begin, length), code.dim(depth)), "k_end");
  }
  beginProduct();
}

Value Contraction::sumAt(StringRef row, Value column) {
  Value at = storeVector > 1 ? code.add(column, code.index(KernelCode::kLane)) : column;
  return code.atom(sumElement(), "sum[" + row + "][" + code.print(at) + "]");
}

/// Elements of the workspace are ordered [part][product][row][column].
Value Contraction::placeInParts(Value part, Value row, Value column) {
  Value matrix = code.add(code.mul(part, code.dim(products)), product);
  return code.add(code.mul(code.add(code.mul(matrix, code.dim(rows)), row), code.dim(columns)), column);
}

/// To leave the loop is shorter; but with f64 the compiler does not unroll a loop that is left early, and keeps its sums in memory.
void Contraction::skipRowsOutside(Value row, int64_t together) {
  if (nn::constantOf(rows) && *nn::constantOf(rows) % tile.rows == 0)
    return;
  code.line("if (" + code.print(row) + " >= " + code.print(code.dim(rows.floorDiv(together))) + ")");
  code.line(element.isF64() ? "  continue;" : "  break;");
}

void Contraction::storeParts() {
  storeVector = columns.getLargestKnownDivisor() % 4 == 0 ? std::min<int64_t>(tile.columnRun(), 4) : 1;
  code.line("#pragma unroll");
  code.open("for (int i = 0; i < kRows; ++i)");
  Value row = rowOf(code.index("i"));
  code.declare(row, "row");
  skipRowsOutside(row);
  forColumns([&](Value column, Value sumColumn) {
    storeColumns(sumElement(), {"parts", {}, {}}, placeInParts(part, row, column), [&] { return sumAt("i", sumColumn); });
  });
  code.close();
}

EmittedKernel Contraction::emitSum(int64_t parts) {
  constexpr int64_t kThreads = 256;
  code.workspace = KernelCode::Workspace::Read;
  code.note(formula);
  code.note("adds up the " + Twine(parts) + " parts of every sum; a thread " + Twine(rowGroup) + " x " + Twine(storeVector));
  tile = {rowGroup, storeVector, 1, rowGroup, storeVector};
  nn::Dim across = columns.floorDiv(storeVector), threads = rows.floorDiv(rowGroup) * across;
  code.line("constexpr int kParts = " + Twine(parts) + ", kRows = " + Twine(rowGroup) + ", kColumns = " + Twine(storeVector) + ";");
  nn::Dim blocks = threads.ceilDiv(kThreads);
  bool isFlat = code.mayExceed(products, kMostAcross);
  Value thread = code.index("thread"), block = code.index("(" + code.indexType() + ")blockIdx.x");
  Value blockOfProduct = isFlat ? code.rem(block, code.dim(blocks)) : block;
  Value firstThread = code.mul(blockOfProduct, code.index("blockDim.x"));
  code.line("const " + code.indexType() + " thread = " +
            code.print(code.add(firstThread, code.index("threadIdx.x"))) + ";");
  code.line("if (thread >= " + code.print(code.dim(threads)) + ")");
  code.line("  return;");
  firstRow = firstColumn = code.size(0);
  threadRow = code.mul(code.div(thread, code.dim(across)), code.size(rowGroup));
  code.declare(threadRow, "first_row");
  threadColumn = code.mul(code.rem(thread, code.dim(across)), code.size(storeVector));
  code.declare(threadColumn, "first_column");
  product = nn::constantOf(products) == 1 ? code.size(0)
            : isFlat                      ? code.div(block, code.dim(blocks))
                                          : code.index("(" + code.indexType() + ")blockIdx.z");
  beginProduct();
  code.line("float sum[kRows][kColumns] = {};");
  // Enough loads on their way at a time; all of them would take more registers than there are.
  code.line("#pragma unroll 8");
  code.open("for (int part = 0; part < kParts; ++part)");
  code.line("#pragma unroll");
  code.open("for (int i = 0; i < kRows; ++i)");
  Value place = placeInParts(code.index("part"), code.add(threadRow, code.index("i")), threadColumn);
  code.line("const auto part_v = load<kColumns>(parts + " + code.print(place) + ");");
  code.line("#pragma unroll");
  code.line("for (int c = 0; c < kColumns; ++c)");
  code.line("  sum[i][c] += part_v.at[c];");
  code.close();
  code.close();
  code.blank();
  storeTile();
  CudaLaunch launch;
  launch.threads = kThreads;
  launch.gridX = isFlat ? blocks * products : blocks;
  launch.gridZ = isFlat ? nn::Dim() : products;
  return code.finish(launch);
}

/// What a thread knows of the rows that it loads, before the loop over the depth.
void Contraction::writeRowValues() {
  if (!leftAlongDepth)
    return;
  LoadPlan plan = leftPlan();
  code.blank();
  code.line("// The " + Twine(plan.isLoop() ? "rows" : "row") + " of " + leftName + " that this thread loads.");
  Value row = code.add(firstRow, rowInBlock(placeOf(code, plan, code.index("u")).across));
  Value isRow = code.less(row, code.dim(rows));
  Value clipped = code.min(row, code.sub(code.dim(rows), code.size(1)));
  code.suggest(row, "load_row");
  code.suggest(clipped, "load_row_inside");
  auto valuesOfRow = [&] {
    SmallVector<std::pair<std::string, Value>> values = rowValues(clipped);
    if (!(nn::constantOf(rows) && *nn::constantOf(rows) % tile.rows == 0))
      values.push_back({"is_row", isRow});
    return values;
  };
  if (!plan.isLoop()) {
    for (auto &[name, value] : valuesOfRow())
      arrays.push_back({name, code.atom(value.getType(), code.declare(value, name))});
    return;
  }
  SmallVector<std::pair<std::string, Value>> values;
  std::string body = code.capture([&] {
    values = valuesOfRow();
    for (auto &[name, value] : values)
      code.line(name + "[u] = " + code.print(value) + ";");
  });
  for (auto &[name, value] : values)
    code.line(cppType(value.getType(), code.wideIndex) + " " + plan.declarator(name) + ";");
  plan.forLoads(code, [&] { code.source.append(body); });
  for (auto &[name, value] : values)
    arrays.push_back({name, code.atom(value.getType(), name + "[u]")});
}

/// An element, or vector, of the slice at depth `k0`.
Contraction::Source Contraction::leftAt(LoadPlace place) {
  Value k = code.add(code.index("k0"), leftAlongDepth ? place.along : place.across);
  code.declare(k, leftPlan().isLoop() ? "k" : leftName + "_k");
  SmallVector<Value> values;
  Value isRow;
  if (!leftAlongDepth) {
    values.push_back(code.add(firstRow, place.along));
    bool rowsWhole = nn::constantOf(rows) && *nn::constantOf(rows) % tile.rows == 0;
    isRow = rowsWhole ? Value() : code.less(values[0], code.dim(rows));
  }
  for (auto &[name, value] : arrays)
    if (name == "is_row")
      isRow = value;
    else
      values.push_back(value);
  Source source = leftSource(k, values);
  source.isInside = both(both(isRow, isDepth(k)), source.isInside);
  return source;
}

Contraction::Source Contraction::rightAt(LoadPlace place) {
  Value k = code.add(code.index("k0"), rightAlongDepth ? place.along : place.across);
  Value column = code.add(firstColumn, rightAlongDepth ? place.across : place.along);
  code.declare(k, rightPlan().isLoop() ? "k" : rightName + "_k");
  code.suggest(column, "column");
  bool columnsWhole = nn::constantOf(columns) && *nn::constantOf(columns) % tile.columns == 0;
  Value isColumn = columnsWhole ? Value() : code.less(column, code.dim(columns));
  Source source = rightSource(k, column);
  source.isInside = both(both(isDepth(k), isColumn), source.isInside);
  return source;
}

/// Null where no slice reaches beyond the depth.
Value Contraction::isDepth(Value k) {
  bool endsWhole = nn::constantOf(depth) && *nn::constantOf(depth) % tile.depth == 0;
  return endsWhole ? Value() : code.less(k, code.dim(depth));
}

/// Both conditions hold; null is always true.
Value Contraction::both(Value a, Value b) { return a && b ? arith::AndIOp::create(code, a, b).getResult() : a ? a : b; }

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

Value Contraction::rowOf(Value i) {
  // With pool windows a lane's rows lie side by side; see rowInBlock.
  int64_t step = tile.usesTensorCores && rowGroup == 1 ? 8 : 1;
  return code.add(code.add(firstRow, threadRow), code.mul(i, code.size(step)));
}

void Contraction::forColumns(function_ref<void(Value, Value)> body) {
  int64_t stores = tile.threadColumns / storeVector, perRun = tile.columnRun() / storeVector;
  bool isWhole = nn::constantOf(columns) && *nn::constantOf(columns) % tile.columns == 0;
  auto guarded = [&](Value column, Value sumColumn) {
    if (!isWhole)
      code.open("if (" + code.print(code.less(column, code.dim(columns))) + ")");
    body(column, sumColumn);
    if (!isWhole)
      code.close();
  };
  Value begin = code.add(firstColumn, threadColumn);
  if (stores == 1) {
    code.suggest(begin, "column");
    return guarded(begin, code.size(0));
  }
  std::string name = storeVector == 1 ? "c" : "g";
  code.line("#pragma unroll");
  code.open("for (int " + name + " = 0; " + name + " < " + (storeVector == 1 ? "kColumns" : Twine(stores)) + "; ++" + name + ")");
  Value number = code.index(name), inRun = code.mul(number, code.size(storeVector));
  if (stores > perRun)
    inRun = code.add(code.mul(code.div(number, code.size(perRun)), code.size(tile.columnStep())),
                     code.mul(code.rem(number, code.size(perRun)), code.size(storeVector)));
  Value column = code.add(begin, inRun);
  code.declare(column, "column");
  guarded(column, code.mul(number, code.size(storeVector)));
  code.close();
}
