// nn.attention without a matrix of scores in memory: a block takes a run of queries past all keys, tile by tile, with the running
// maximum and sum of the softmax (online softmax; Milakov and Gimelshein, 2018) and the unfinished result in registers.
//
// A query belongs to kParts neighbouring threads, each of which holds every kParts-th group of numbers (16 bytes) of the query and of
// its result: few enough for the registers, and the threads of a warp read neighbouring groups of a key, which they share, from
// shared memory without conflicts. Half precision is computed in f32. The wider the heads, the fewer keys fit a tile.

#include "codegen/cuda/EmitKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

constexpr int64_t kThreads = 128;
/// 32-bit registers for the numbers of a query that one thread holds, about.
constexpr int64_t kPartRegisters = 32;
/// Keys of a tile, and those whose scores are weighted together: the result so far is rescaled once for all of them. Fewer where
/// they do not fit.
constexpr int64_t kMostKeys = 32, kLongestRun = 8;
constexpr int64_t kSharedBytes = 48 * 1024;

class AttentionEmitter {
public:
  AttentionEmitter(KernelCode &code)
      : code(code), op(cast<nn::AttentionOp>(nn::anchorOf(code.kernel))), q(cast<RankedTensorType>(op.getQ().getType())),
        k(cast<RankedTensorType>(op.getK().getType())), v(cast<RankedTensorType>(op.getV().getType())), rank(q.getRank()),
        depth(q.getDimSize(rank - 1)), width(v.getDimSize(rank - 1)),
        type(q.getElementType().isF64() ? q.getElementType() : Type(code.getF32Type())), cpp(cppType(type, code.wideIndex)),
        suffix(type.isF64() ? "" : "f"), group(16 / bytes()) {
    int64_t widest = std::max(depth, width);
    while (parts < 32 && widest * (bytes() / 4) > kPartRegisters * parts)
      parts *= 2;
    paddedDepth = llvm::alignTo(depth, group * parts);
    paddedWidth = llvm::alignTo(width, group * parts);
    queries = kThreads / parts;
    int64_t fitting = kSharedBytes / ((paddedDepth + paddedWidth) * bytes());
    while (run > fitting && run > 1)
      run /= 2;
    tileKeys = std::min(kMostKeys, fitting / run * run);
    code.reserve({"i", "r", "run", "thread", "part", "keys", "score", "next", "largest", "total", "result", "scale", "factor", "power"});
  }

  /// Nothing fits the shared memory of a block.
  bool isTooWide() const { return tileKeys == 0; }
  EmittedKernel emit();

private:
  int64_t bytes() const { return type.getIntOrFloatBitWidth() / 8; }
  void begin();
  void loadQuery();
  void loadTile();
  void writeScores();
  void writeWeights();
  void store();
  Value masked(Value score, Value key);
  SmallVector<Value> keyedIndex(RankedTensorType type, Value key, Value column);
  void unrolled(StringRef variable, const Twine &end, function_ref<void()> body);
  /// Number `j` of group `i` of this thread's part.
  Value ownColumn(StringRef i, StringRef j) {
    Value number = code.add(code.mul(code.index(i), code.size(parts)), code.index("part"));
    return code.add(code.mul(number, code.size(group)), code.index(j));
  }

  KernelCode &code;
  nn::AttentionOp op;
  RankedTensorType q, k, v;
  int64_t rank, depth, width;
  Type type;          ///< in which is computed
  std::string cpp;    ///< its name
  StringRef suffix;   ///< of libm's functions for it
  int64_t group;      ///< numbers in 16 bytes
  int64_t parts = 1, paddedDepth, paddedWidth, queries, run = kLongestRun, tileKeys;
  SmallVector<Value> batch;
  Value query, isQuery;
};

} // namespace

void AttentionEmitter::unrolled(StringRef variable, const Twine &end, function_ref<void()> body) {
  std::string limit = end.str();
  code.line("#pragma unroll");
  code.open("for (int " + variable + " = 0; " + variable + " < " + limit + "; ++" + variable + ")");
  body();
  code.close();
}

void AttentionEmitter::begin() {
  auto number = [](int64_t value) { return std::to_string(value); };
  constexpr int64_t kRegisters = 128; // the query's part and the sums stay in registers
  code.registers = kRegisters;
  code.line("constexpr int kParts = " + number(parts) + ", kKeys = " + number(tileKeys) + ", kRun = " + number(run) + ";");
  code.declareShared(type, "k_tile[kKeys][" + number(paddedDepth) + "]", tileKeys * paddedDepth);
  code.declareShared(type, "v_tile[kKeys][" + number(paddedWidth) + "]", tileKeys * paddedWidth);
  code.line("const int thread = threadIdx.x, part = thread % kParts;");
  nn::Dim blocks = nn::dimOf(q, rank - 2).ceilDiv(queries);
  SmallVector<Value> extents;
  nn::Shape shape = nn::shapeOf(q);
  for (nn::Dim dim : ArrayRef<nn::Dim>(shape).drop_back(2))
    extents.push_back(code.dim(dim));
  extents.push_back(code.dim(blocks));
  batch = code.delinearize(code.index("(" + code.indexType() + ")blockIdx.x"), extents);
  Value first = code.mul(batch.pop_back_val(), code.size(queries));
  for (auto [number, position] : llvm::enumerate(batch))
    code.declare(position, number == 0 ? "n" : number + 1 == batch.size() ? "head" : "i");
  code.declare(first, "first_query");
  query = code.add(first, code.div(code.index("thread"), code.size(parts)));
  code.declare(query, "query");
  isQuery = code.less(query, code.dim(nn::dimOf(q, rank - 2)));
  code.declare(isQuery, "is_query");
}

/// The index of an element of k or v. Each of their heads serves an equal run of q's.
SmallVector<Value> AttentionEmitter::keyedIndex(RankedTensorType type, Value key, Value column) {
  SmallVector<Value> index = batch;
  if (rank >= 3 && nn::dimOf(q, rank - 3) != nn::dimOf(type, rank - 3)) {
    Value run = code.div(code.dim(nn::dimOf(q, rank - 3)), code.dim(nn::dimOf(type, rank - 3)));
    index.back() = code.div(index.back(), run);
  }
  index.append({key, column});
  return index;
}

/// The thread's part of its query, scaled; what lies behind the last number is zero.
void AttentionEmitter::loadQuery() {
  int64_t groups = paddedDepth / parts / group;
  code.line(cpp + " q_part[" + Twine(groups) + "][" + Twine(group) + "];");
  unrolled("i", Twine(groups), [&] {
    unrolled("j", Twine(group), [&] {
      Value column = ownColumn("i", "j");
      code.declare(column, "column");
      SmallVector<Value> index = batch;
      index.append({query, column});
      Value scaled = arith::MulFOp::create(code, code.read(op.getQ(), index), code.constant(type, op.scaleOrDefault()));
      std::string condition = code.print(isQuery);
      if (paddedDepth != depth)
        condition += " && " + code.print(code.less(column, code.size(depth)));
      code.line("q_part[i][j] = 0;");
      code.open("if (" + condition + ")");
      std::string text = code.print(scaled);
      code.line("q_part[i][j] = " + text + ";");
      code.close();
    });
  });
  code.line(cpp + " result[" + Twine(paddedWidth / parts / group) + "][" + Twine(group) + "] = {};");
  code.line(cpp + " largest = -kInfinity, total = 0;");
}

/// Keys and values from `first_key` on into shared memory.
void AttentionEmitter::loadTile() {
  auto loadSide = [&](Value tensor, StringRef tile, int64_t columns, int64_t padded) {
    auto type = cast<RankedTensorType>(tensor.getType());
    std::string name = code.openLoop("e", [&](const std::string &e) {
      return "for (int " + e + " = thread; " + e + " < kKeys * " + std::to_string(padded) + "; " + e + " += " + std::to_string(kThreads) + ")";
    });
    Value row = code.div(code.index(name), code.size(padded)), column = code.rem(code.index(name), code.size(padded));
    Value key = code.add(code.index("first_key"), row);
    std::string place = (tile + "[" + code.print(row) + "][" + code.print(column) + "]").str();
    Value inside = code.less(key, code.index("keys"));
    if (padded != columns)
      inside = arith::AndIOp::create(code, inside, code.less(column, code.size(columns)));
    code.line(place + " = 0;");
    code.open("if (" + code.print(inside) + ")");
    Value value = code.read(tensor, keyedIndex(type, key, column));
    std::string text = code.print(value);
    code.line(place + " = " + text + ";");
    code.close();
    code.close();
  };
  loadSide(op.getK(), "k_tile", depth, paddedDepth);
  loadSide(op.getV(), "v_tile", width, paddedWidth);
}

Value AttentionEmitter::masked(Value score, Value key) {
  Value lowest = code.constant(type, -std::numeric_limits<double>::infinity());
  if (Value mask = op.getMask()) {
    auto type = cast<RankedTensorType>(mask.getType());
    SmallVector<Value> full = batch, index;
    full.append({query, key});
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      index.push_back(type.getDimSize(dim) == 1 ? code.size(0) : full[rank - type.getRank() + dim]);
    Value entry = code.read(mask, index);
    score = isa<FloatType>(entry.getType()) ? arith::AddFOp::create(code, score, entry).getResult()
                                            : arith::SelectOp::create(code, entry, score, lowest).getResult();
  }
  return score;
}

/// The scores of a run of keys; -infinity for keys that do not count.
void AttentionEmitter::writeScores() {
  code.line(cpp + " score[kRun];");
  unrolled("r", "kRun", [&] {
    code.line("score[r] = 0;");
    std::string count = std::to_string(group);
    unrolled("i", Twine(paddedDepth / parts / group), [&] {
      code.line("const auto k_v = load<" + count + ">(&k_tile[run + r][(i * kParts + part) * " + count + "]);");
      code.line("#pragma unroll");
      code.line("for (int j = 0; j < " + count + "; ++j)");
      code.line("  score[r] += q_part[i][j] * k_v.at[j];");
    });
    if (parts > 1) {
      code.line("#pragma unroll");
      code.line("for (int offset = kParts / 2; offset > 0; offset /= 2)");
      code.line("  score[r] += shuffle_xor(score[r], offset);");
    }
    Value key = code.add(code.index("first_key"), code.add(code.index("run"), code.index("r")));
    code.declare(key, "key");
    Value counts = arith::AndIOp::create(code, isQuery, code.less(key, code.index("keys")));
    if (op.getCausal())
      counts = arith::AndIOp::create(code, counts, arith::CmpIOp::create(code, arith::CmpIPredicate::sle, key, query));
    std::string condition = code.print(counts);
    if (!op.getMask()) {
      code.line("if (!(" + condition + "))");
      code.line("  score[r] = -kInfinity;");
      return;
    }
    code.open("if (" + condition + ")");
    std::string text = code.print(masked(code.atom(type, "score[r]"), key));
    code.line("score[r] = " + text + ";");
    code.close(" else {");
    code.source.reopen();
    code.line("score[r] = -kInfinity;");
    code.source.close();
  });
}

/// Rescales what was summed before and adds the run's values, weighted by the powers of their scores.
void AttentionEmitter::writeWeights() {
  int64_t groups = paddedWidth / parts / group;
  std::string count = std::to_string(group);
  code.line(cpp + " next = largest;");
  code.line("#pragma unroll");
  code.line("for (int r = 0; r < kRun; ++r)");
  code.line("  next = fmax" + suffix + "(next, score[r]);");
  code.line("// As long as every key is masked there is nothing to subtract: the powers are 0 then.");
  code.line("const " + cpp + " shift = next == -kInfinity ? 0 : next;");
  code.line("const " + cpp + " factor = exp" + suffix + "(largest - shift);");
  code.line("largest = next;");
  code.line("total *= factor;");
  unrolled("i", Twine(groups), [&] {
    code.line("#pragma unroll");
    code.line("for (int j = 0; j < " + count + "; ++j)");
    code.line("  result[i][j] *= factor;");
  });
  unrolled("r", "kRun", [&] {
    code.line("const " + cpp + " power = exp" + suffix + "(score[r] - shift);");
    code.line("total += power;");
    unrolled("i", Twine(groups), [&] {
      code.line("const auto v_v = load<" + count + ">(&v_tile[run + r][(i * kParts + part) * " + count + "]);");
      code.line("#pragma unroll");
      code.line("for (int j = 0; j < " + count + "; ++j)");
      code.line("  result[i][j] += power * v_v.at[j];");
    });
  });
}

void AttentionEmitter::store() {
  code.line("if (!is_query)");
  code.line("  return;");
  code.line("const " + cpp + " scale = total > 0 ? 1 / total : 0;");
  Memory memory = code.resultMemory(0);
  Type stored = cast<RankedTensorType>(code.storedValue(0).getType()).getElementType();
  unrolled("i", Twine(paddedWidth / parts / group), [&] {
    unrolled("j", Twine(group), [&] {
      Value column = ownColumn("i", "j");
      code.declare(column, "column");
      if (paddedWidth != width)
        code.open("if (" + code.print(code.less(column, code.size(width))) + ")");
      SmallVector<Value> index = batch;
      index.append({query, column});
      Value value = arith::MulFOp::create(code, code.atom(type, "result[i][j]"), code.atom(type, "scale"));
      code.bind(op.getResult(), value);
      std::string text = code.stored(stored, code.read(code.storedValue(0), index));
      code.line(memory.pointer + "[" + code.print(code.placeIn(memory, index)) + "] = " + text + ";");
      code.forget();
      if (paddedWidth != width)
        code.close();
    });
  });
}

EmittedKernel AttentionEmitter::emit() {
  code.note("a block works on " + Twine(queries) + " queries, " + Twine(parts) + (parts == 1 ? " thread" : " threads") +
            " on each; keys and values come in tiles of " + Twine(tileKeys));
  begin();
  loadQuery();
  Value keys = code.dim(nn::dimOf(k, rank - 2));
  if (op.getCausal()) {
    // Later keys are hidden from every query of the block.
    Value end = code.add(code.index("first_query"), code.size(queries));
    keys = code.min(keys, nn::constantOf(nn::dimOf(q, rank - 2)) && *nn::constantOf(nn::dimOf(q, rank - 2)) <= queries ? code.size(queries) : end);
  }
  std::string end = code.print(keys);
  code.line("const " + code.indexType() + " keys = " + end + ";");
  code.open("for (" + code.indexType() + " first_key = 0; first_key < keys; first_key += kKeys)");
  code.line("__syncthreads();");
  loadTile();
  code.line("__syncthreads();");
  code.open("for (int run = 0; run < kKeys && first_key + run < keys; run += kRun)");
  writeScores();
  writeWeights();
  code.close();
  code.close();
  store();
  CudaLaunch launch;
  launch.threads = kThreads;
  SmallVector<nn::Dim> dims = llvm::to_vector(ArrayRef<nn::Dim>(nn::shapeOf(q)).drop_back(2));
  dims.push_back(nn::dimOf(q, rank - 2).ceilDiv(queries));
  launch.gridX = nn::product(dims, code.getContext());
  EmittedKernel kernel = code.finish(launch);
  kernel.product.emplace();
  return kernel;
}

FailureOr<EmittedKernel> cuda::emitAttention(KernelCode &code) {
  auto op = cast<nn::AttentionOp>(nn::anchorOf(code.kernel));
  auto v = cast<RankedTensorType>(op.getV().getType());
  if (ShapedType::isDynamic(v.getShape().back()))
    return code.kernel.emitOpError("has attention values of a dynamic width, for which there is no CUDA emitter");
  AttentionEmitter emitter(code);
  if (emitter.isTooWide())
    return code.kernel.emitOpError("has a head that does not fit the shared memory of a block (") << kSharedBytes << " bytes)";
  return emitter.emit();
}
