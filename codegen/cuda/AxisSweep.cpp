// The loops of reductions and normalisations; see AxisSweep.h.

#include "codegen/cuda/AxisSweep.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

static constexpr int64_t kWarp = 32, kBlock = 256;
/// Elements of a row from which on a block works on it; a warp has 32 for each thread by then.
static constexpr int64_t kBlockElements = 1024;

AxisSweep::AxisSweep(KernelCode &code, ArrayRef<LoopDim> loops, ArrayRef<bool> isSwept, unsigned rank)
    : code(code), rank(rank) {
  code.reserve({"lane", "group", "offset"});
  for (auto [loop, swept] : llvm::zip(loops, isSwept))
    (swept ? sweptLoops : keptLoops).push_back(loop);
  isRowwise = keptLoops.empty() || (!isSwept.empty() && isSwept.back());
  if (!isRowwise || sweptLoops.empty())
    return;
  std::optional<int64_t> elements = nn::constantOf(elementsPerGroup());
  threadsPerGroup = !elements || *elements >= kBlockElements ? kBlock : kWarp;
}

nn::Dim AxisSweep::elementsPerGroup() const {
  SmallVector<nn::Dim> extents;
  for (const LoopDim &loop : sweptLoops)
    extents.push_back(loop.extent);
  return nn::product(extents, code.getContext());
}

static nn::Dim groupCount(ArrayRef<LoopDim> loops, MLIRContext *context) {
  SmallVector<nn::Dim> extents;
  for (const LoopDim &loop : loops)
    extents.push_back(loop.extent);
  return nn::product(extents, context);
}

int64_t AxisSweep::cutIntoParts(int64_t values) {
  // Enough blocks for a large device twice over, and enough elements for each thread to be worth a second kernel.
  constexpr int64_t kFewGroups = 8192, kManyElements = 1024, kBlocks = 264, kMostParts = 64, kLeastElements = 8;
  std::optional<int64_t> groups = nn::constantOf(groupCount(keptLoops, code.getContext())), elements = nn::constantOf(elementsPerGroup());
  if (isRowwise || sweptLoops.empty() || !groups || *groups > kFewGroups || (elements && *elements < kManyElements))
    return 1;
  columns = std::min<int64_t>(kWarp, int64_t(llvm::PowerOf2Ceil(uint64_t(*groups))));
  valuesPerGroup = values;
  parts = std::min(kMostParts, (kBlocks * columns + *groups - 1) / *groups);
  if (elements)
    parts = std::min(parts, *elements / (kBlock / columns * kLeastElements));
  parts = std::max<int64_t>(parts, 2);
  code.workspace = KernelCode::Workspace::Written;
  return parts;
}

nn::Dim AxisSweep::workspaceElements() const {
  return groupCount(keptLoops, code.getContext()) * parts * valuesPerGroup;
}

CudaLaunch AxisSweep::launch() const {
  CudaLaunch launch;
  launch.threads = kBlock;
  if (parts > 1) {
    launch.gridX = groupCount(keptLoops, code.getContext()).ceilDiv(columns);
    launch.gridY = nn::constantDim(code.getContext(), parts);
    return launch;
  }
  launch.gridX = groupCount(keptLoops, code.getContext()).ceilDiv(kBlock / threadsPerGroup);
  return launch;
}

static SmallVector<Value> extentsOf(KernelCode &code, ArrayRef<LoopDim> loops) {
  SmallVector<Value> extents;
  for (const LoopDim &loop : loops)
    extents.push_back(code.dim(loop.extent));
  return extents;
}

/// A block has `columns` groups side by side and several rows of threads, which take turns along the elements of the block's part.
void AxisSweep::beginPart() {
  code.reserve({"row", "column", "first", "last", "length"});
  code.note("each of " + Twine(parts) + " parts of the elements has blocks of its own; another kernel combines their results");
  std::string type = code.indexType(), count = code.print(code.dim(elementsPerGroup()));
  code.line("const int column = threadIdx.x % " + Twine(columns) + ", row = threadIdx.x / " + Twine(columns) + ";");
  code.line("const " + type + " group = blockIdx.x * " + (code.wideIndex ? "(long long)" : "") + Twine(columns) + " + column;");
  code.line("const " + type + " length = (" + count + " + " + Twine(parts - 1) + ") / " + Twine(parts) + ";");
  code.line("const " + type + " first = blockIdx.y * length;");
  code.line("const " + type + " last = first + length < " + count + " ? first + length : " + count + ";");
}

void AxisSweep::begin() {
  if (parts > 1) {
    beginPart();
    std::string groups = code.print(code.dim(groupCount(keptLoops, code.getContext())));
    // All threads of a block meet below: those without a group do another's work once more, and store nothing.
    code.line("const " + code.indexType() + " place = group < " + groups + " ? group : " + groups + " - 1;");
    current.assign(rank, code.size(0));
    SmallVector<Value> extents = extentsOf(code, keptLoops);
    for (auto [loop, position] : llvm::zip(keptLoops, code.delinearize(code.index("place"), extents)))
      current[loop.dim] = code.add(current[loop.dim], code.mul(position, code.size(loop.step)));
    return;
  }
  StringRef who = threadsPerGroup == 1 ? "a thread works on a group" : threadsPerGroup == kWarp ? "a warp works on a row" : "a block works on a row";
  code.note(who);
  std::string wide = code.wideIndex ? "(long long)" : "";
  std::string group;
  if (threadsPerGroup == kBlock) {
    code.line("const int lane = threadIdx.x;");
    group = "blockIdx.x";
  } else if (threadsPerGroup == kWarp) {
    code.line("const int lane = threadIdx.x % 32;");
    group = "blockIdx.x * " + wide + std::to_string(kBlock / kWarp) + " + threadIdx.x / 32";
  } else {
    group = "blockIdx.x * " + wide + "blockDim.x + threadIdx.x";
  }
  code.line("const " + code.indexType() + " group = " + group + ";");
  if (threadsPerGroup != kBlock) {
    // A warp leaves as a whole.
    code.line("if (group >= " + code.print(code.dim(groupCount(keptLoops, code.getContext()))) + ")");
    code.line("  return;");
  }
  current.assign(rank, code.size(0));
  SmallVector<Value> extents = extentsOf(code, keptLoops);
  for (auto [loop, position] : llvm::zip(keptLoops, code.delinearize(code.index("group"), extents)))
    current[loop.dim] = code.add(current[loop.dim], code.mul(position, code.size(loop.step)));
}

/// Opens the loop over the thread's elements; gives the index of one.
AxisSweep::Index AxisSweep::openLoop() {
  std::string first = threadsPerGroup == 1 ? "0" : "lane", count = code.print(code.dim(elementsPerGroup()));
  int64_t step = threadsPerGroup;
  if (parts > 1) {
    first = "first + row";
    count = "last";
    step = kBlock / columns;
  }
  std::string name = code.openLoop("e", [&](const std::string &e) {
    std::string next = step == 1 ? "++" + e : e + " += " + std::to_string(step);
    return "for (" + code.indexType() + " " + e + " = " + first + "; " + e + " < " + count + "; " + next + ")";
  });
  Index index = current;
  SmallVector<Value> extents = extentsOf(code, sweptLoops);
  for (auto [loop, position] : llvm::zip(sweptLoops, code.delinearize(code.index(name), extents)))
    index[loop.dim] = code.add(index[loop.dim], code.mul(position, code.size(loop.step)));
  return index;
}

AxisSweep::Values AxisSweep::declarePartial(StringRef name, ValueRange neutral, SmallVector<std::string> &names) {
  Values partial;
  for (Value value : neutral) {
    names.push_back(code.freshName(name));
    std::string text = code.print(value);
    code.line(cppType(value.getType(), code.wideIndex) + " " + names.back() + " = " + text + ";");
    partial.push_back(code.atom(value.getType(), names.back()));
  }
  return partial;
}

void AxisSweep::assign(ArrayRef<std::string> names, ValueRange results) {
  SmallVector<std::string> texts;
  for (Value result : results)
    texts.push_back(results.size() == 1 ? code.print(result) : code.declare(result, "next"));
  for (auto [name, text] : llvm::zip(names, texts))
    code.line(name + " = " + text + ";");
}

AxisSweep::Values AxisSweep::reduce(StringRef name, ValueRange neutral, function_ref<Values(const Index &)> lift,
                                    function_ref<Values(ValueRange, ValueRange)> combine) {
  SmallVector<std::string> names;
  Values partial = declarePartial(name, neutral, names);
  Index index = openLoop();
  assign(names, combine(partial, lift(index)));
  code.close();
  if (parts > 1)
    combineRows(names, neutral.getTypes(), combine);
  else if (threadsPerGroup > 1)
    combineThreads(names, neutral.getTypes(), combine);
  return partial;
}

/// Within each warp by shuffles; with a whole block, then the warps' results through shared memory, in every warp.
void AxisSweep::combineThreads(ArrayRef<std::string> names, TypeRange types,
                               function_ref<Values(ValueRange, ValueRange)> combine) {
  auto writeShuffles = [&](int64_t width) {
    code.line("#pragma unroll");
    code.open("for (int offset = " + Twine(width / 2) + "; offset > 0; offset /= 2)");
    Values own, other;
    for (auto [name, type] : llvm::zip(names, types)) {
      own.push_back(code.atom(type, name));
      std::string from = code.nameInBlock("other");
      code.line("const " + cppType(type, code.wideIndex) + " " + from + " = shuffle_xor(" + name + ", offset);");
      other.push_back(code.atom(type, from));
    }
    assign(names, combine(own, other));
    code.close();
  };
  writeShuffles(kWarp);
  if (threadsPerGroup == kWarp)
    return;
  constexpr int64_t kWarps = kBlock / kWarp;
  SmallVector<std::string> shared;
  for (auto [name, type] : llvm::zip(names, types)) {
    shared.push_back(name + "_of_warp");
    code.declareShared(type, shared.back() + "[" + Twine(kWarps) + "]", kWarps, /*isAligned=*/false);
  }
  code.open("if (lane % 32 == 0)");
  for (auto [name, array] : llvm::zip(names, shared))
    code.line(array + "[lane / 32] = " + name + ";");
  code.close();
  code.line("__syncthreads();");
  for (auto [name, array] : llvm::zip(names, shared))
    code.line(name + " = " + array + "[lane % " + Twine(kWarps) + "];");
  writeShuffles(kWarps);
}

/// Through shared memory, by the threads of the first row.
void AxisSweep::combineRows(ArrayRef<std::string> names, TypeRange types, function_ref<Values(ValueRange, ValueRange)> combine) {
  int64_t rows = kBlock / columns;
  for (auto [name, type] : llvm::zip(names, types)) {
    code.declareShared(type, name + "_of_thread[" + std::to_string(kBlock) + "]", kBlock, /*isAligned=*/false);
    code.line(name + "_of_thread[threadIdx.x] = " + name + ";");
  }
  code.line("__syncthreads();");
  code.open("for (int other_row = 1; row == 0 && other_row < " + Twine(rows) + "; ++other_row)");
  Values own, other;
  for (auto [name, type] : llvm::zip(names, types)) {
    own.push_back(code.atom(type, name));
    other.push_back(code.atom(type, name + "_of_thread[other_row * " + std::to_string(columns) + " + column]"));
  }
  assign(names, combine(own, other));
  code.close();
}

/// The workspace is ordered [part][value][group].
std::string AxisSweep::placeInParts(StringRef part, int64_t value, int64_t values) const {
  std::string groups = code.print(code.dim(groupCount(keptLoops, code.getContext())));
  return ("parts[(" + part + " * " + Twine(values) + " + " + Twine(value) + ") * " + groups + " + group]").str();
}

void AxisSweep::storeParts(ValueRange partial) {
  code.open("if (row == 0 && group < " + code.print(code.dim(groupCount(keptLoops, code.getContext()))) + ")");
  for (auto [number, value] : llvm::enumerate(partial))
    code.line(placeInParts("blockIdx.y", int64_t(number), int64_t(partial.size())) + " = " + code.print(value) + ";");
  code.close();
}

AxisSweep::Values AxisSweep::combineParts(StringRef name, int64_t partCount, ValueRange neutral,
                                          function_ref<Values(ValueRange, ValueRange)> combine) {
  code.note("combines the results of " + Twine(partCount) + " parts");
  SmallVector<std::string> names;
  Values partial = declarePartial(name, neutral, names), other;
  code.open("for (int part = 0; part < " + Twine(partCount) + "; ++part)");
  for (auto [number, value] : llvm::enumerate(neutral))
    other.push_back(code.atom(value.getType(), placeInParts("part", int64_t(number), int64_t(neutral.size()))));
  assign(names, combine(partial, other));
  code.close();
  return partial;
}

Value AxisSweep::sum(StringRef name, Type type, function_ref<Value(const Index &)> term) {
  return reduce(
      name, code.constant(type, 0), [&](const Index &index) { return Values{term(index)}; },
      [&](ValueRange x, ValueRange y) { return Values{arith::AddFOp::create(code, x[0], y[0])}; })[0];
}

void AxisSweep::map(function_ref<void(const Index &)> body) {
  Index index = openLoop();
  body(index);
  code.close();
}

void AxisSweep::openOnce() { code.open(threadsPerGroup == 1 ? "" : "if (lane == 0)"); }
