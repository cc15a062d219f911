// Pooling: a thread computes one element of the result, or four channels of it where channels lie side by side, by walking over its
// window. An elementwise prologue is computed as the window is read, the epilogue before the result is stored.

#include "codegen/LoopDims.h"
#include "codegen/cuda/EmitKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

constexpr int64_t kThreads = 256, kVector = 4;

class PoolEmitter {
public:
  PoolEmitter(KernelCode &code, bool isAligned);
  EmittedKernel emit();

private:
  /// The positions along one spatial dimension.
  struct Axis {
    nn::WindowDim window;
    int64_t parts = 0; ///< of an adaptive pool, 0 for a window of fixed size
    bool mayLeave = false;
  };
  void planLanes();
  /// Opens the loops over the window; returns the positions and, where padding counts apart, writes `count`.
  SmallVector<Value> openWindow(ValueRange output);
  void closeWindow();
  std::string least() const;
  std::string divisor(ValueRange output);

  KernelCode &code;
  Operation *pool;
  RankedTensorType input, type; ///< of the pool's operand and result
  bool isMax, countsPadding = false;
  SmallVector<Axis> axes;
  int64_t lanes = 1;
  int laneDim = -1;
  Type sumType;
  unsigned openBlocks = 0;
  bool writesCount = false;
};

} // namespace

PoolEmitter::PoolEmitter(KernelCode &code, bool isAligned)
    : code(code), pool(nn::anchorOf(code.kernel)), input(cast<RankedTensorType>(pool->getOperand(0).getType())),
      type(cast<RankedTensorType>(pool->getResult(0).getType())), isMax(isa<nn::MaxPoolOp, nn::AdaptiveMaxPoolOp>(pool)) {
  llvm::TypeSwitch<Operation *>(pool)
      .Case<nn::MaxPoolOp, nn::AvgPoolOp>([&](auto op) {
        for (size_t i = 0; i < op.getKernel().size(); ++i) {
          nn::WindowDim window{op.getKernel()[i], op.getStrides()[i], op.getDilations()[i],
                               op.getPadsBegin()[i], op.getPadsEnd()[i], op.getCeilMode()};
          axes.push_back({window, 0, window.padBegin > 0 || window.padEnd > 0 || window.ceilMode});
        }
        if (auto average = dyn_cast<nn::AvgPoolOp>(op.getOperation()))
          countsPadding = average.getCountIncludePad();
      })
      .Case<nn::AdaptiveMaxPoolOp, nn::AdaptiveAvgPoolOp>([&](auto op) {
        for (int64_t parts : op.getOutputSize())
          axes.push_back({{}, parts, false});
      });
  code.reserve({"best", "sum", "count"});
  Type element = input.getElementType();
  sumType = element.isF16() || element.isBF16() ? Type(Float32Type::get(element.getContext())) : element;
  if (isAligned)
    planLanes();
  bool leaves = llvm::any_of(axes, [](const Axis &axis) { return axis.mayLeave; });
  writesCount = !isMax && (leaves && !countsPadding);
}

/// Four channels at once where every tensor of the kernel has them side by side.
void PoolEmitter::planLanes() {
  bool isLast = nn::orderOf(type) == nn::channelsLastOrder(type.getRank()) &&
                nn::orderOf(input) == nn::channelsLastOrder(input.getRank());
  if (!isLast || nn::dimOf(type, 1).getLargestKnownDivisor() % kVector != 0)
    return;
  int64_t bits = input.getElementTypeBitWidth();
  if (bits > 32 || !readsContiguously(pool->getOperand(0), 1) || code.kernel.getNumResults() != 1 ||
      code.storedValue(0) != code.kernel.getTerminator()->getOperand(0))
    return;
  bool isPlain = readsContiguously(code.storedValue(0), 1, [&](Value value, int) -> std::optional<bool> {
    return value == pool->getResult(0) ? std::optional(true) : std::nullopt;
  });
  if (!isPlain)
    return;
  lanes = kVector;
  laneDim = 1;
}

std::string PoolEmitter::least() const {
  if (!isMax)
    return "0";
  auto integer = dyn_cast<IntegerType>(input.getElementType());
  if (!integer)
    return "-kInfinity";
  unsigned width = integer.getWidth();
  if (integer.isUnsigned())
    return "0";
  return width == 64 ? "-9223372036854775807LL - 1" : "-" + std::to_string((int64_t(1) << (width - 1)) - 1) + " - 1";
}

SmallVector<Value> PoolEmitter::openWindow(ValueRange output) {
  static constexpr const char *kNames[3][3] = {{"w"}, {"h", "w"}, {"d", "h", "w"}};
  SmallVector<Value> at;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    std::string name = kNames[axes.size() - 1][i], window = "in_" + name;
    Value extent = code.dim(nn::dimOf(input, i + 2));
    std::string type = code.indexType();
    if (axis.parts) {
      // Part i of n covers i * extent / n up to the ceiling of (i + 1) * extent / n.
      Value parts = code.size(axis.parts);
      std::string begin = code.print(code.div(code.mul(output[i], extent), parts));
      std::string end = code.print(code.ceilDiv(code.mul(code.add(output[i], code.size(1)), extent), parts));
      code.open("for (" + type + " " + window + " = " + begin + "; " + window + " < " + end + "; ++" + window + ")");
      at.push_back(code.index(window));
      ++openBlocks;
      continue;
    }
    std::string tap = "tap_" + name;
    code.open("for (int " + tap + " = 0; " + tap + " < " + Twine(axis.window.kernel) + "; ++" + tap + ")");
    ++openBlocks;
    Value begin = code.sub(code.mul(output[i], code.size(axis.window.stride)), code.size(axis.window.padBegin));
    Value position = code.add(begin, code.mul(code.index(tap), code.size(axis.window.dilation)));
    code.declare(position, window);
    if (axis.mayLeave) {
      Value inside = arith::CmpIOp::create(code, arith::CmpIPredicate::uge, position, extent);
      code.line("if (" + code.print(inside) + ")");
      code.line("  continue;");
    }
    at.push_back(position);
  }
  return at;
}

void PoolEmitter::closeWindow() {
  for (; openBlocks > 0; --openBlocks)
    code.close();
}

/// What the sum of a window is divided by.
std::string PoolEmitter::divisor(ValueRange output) {
  if (writesCount)
    return "count";
  Value product = code.size(1);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Value extent = code.dim(nn::dimOf(input, i + 2));
    if (axis.parts) {
      Value parts = code.size(axis.parts);
      Value begin = code.div(code.mul(output[i], extent), parts);
      Value end = code.ceilDiv(code.mul(code.add(output[i], code.size(1)), extent), parts);
      product = code.mul(product, code.sub(end, begin));
      continue;
    }
    Value size = code.size(axis.window.kernel);
    if (axis.window.ceilMode) {
      // Padding counts, but not what the window covers beyond it: positions below the extent and the padding behind it.
      Value begin = code.sub(code.mul(output[i], code.size(axis.window.stride)), code.size(axis.window.padBegin));
      Value room = code.sub(code.add(extent, code.size(axis.window.padEnd)), begin);
      size = code.min(size, code.ceilDiv(room, code.size(axis.window.dilation)));
    }
    product = code.mul(product, size);
  }
  return code.print(product, /*tight=*/true);
}

EmittedKernel PoolEmitter::emit() {
  code.note(lanes == 1 ? "a thread computes one element of the result" : "a thread computes four channels of one position");
  MLIRContext *context = code.getContext();
  SmallVector<nn::Dim> dims;
  SmallVector<Value> extents;
  for (int64_t dim : nn::orderOf(type)) {
    nn::Dim extent = nn::dimOf(type, dim);
    dims.push_back(static_cast<int>(dim) == laneDim ? extent.floorDiv(lanes) : extent);
    extents.push_back(code.dim(dims.back()));
  }
  nn::Dim threads = nn::product(dims, context);
  std::string number = code.freshName("i");
  std::string one = code.wideIndex ? "(long long)" : "";
  code.line("const " + code.indexType() + " " + number + " = blockIdx.x * " + one + "blockDim.x + threadIdx.x;");
  code.line("if (" + number + " >= " + code.print(code.dim(threads)) + ")");
  code.line("  return;");
  static constexpr const char *kNames[3][5] = {{"n", "c", "w"}, {"n", "c", "h", "w"}, {"n", "c", "d", "h", "w"}};
  SmallVector<Value> index(type.getRank());
  for (auto [dim, position] : llvm::zip(nn::orderOf(type), code.delinearize(code.index(number), extents))) {
    index[dim] = static_cast<int>(dim) == laneDim ? code.mul(position, code.size(lanes)) : position;
    code.declare(index[dim], kNames[axes.size() - 1][dim]);
  }
  ValueRange output = ArrayRef<Value>(index).drop_front(2);

  std::string cpp = cppType(sumType, code.wideIndex), kind = isMax ? "best" : "sum";
  std::string accumulator = lanes == 1 ? kind : kind + "[" + KernelCode::kLane.str() + "]";
  if (lanes == 1) {
    code.line(cpp + " " + kind + " = " + least() + ";");
  } else {
    std::string start = least();
    std::string all = start;
    for (int64_t lane = 1; lane < lanes; ++lane)
      all += ", " + start;
    code.line(cpp + " " + kind + "[" + Twine(lanes) + "] = {" + all + "};");
  }
  if (writesCount)
    code.line("int count = 0;");
  SmallVector<Value> at = {index[0], index[1]};
  at.append(openWindow(output));
  code.lanes = lanes;
  Value value = code.read(pool->getOperand(0), at, laneDim);
  code.forLanes([&] {
    std::string text = code.print(value);
    if (isMax)
      code.line(accumulator + " = maximum(" + accumulator + ", " + text + ");");
    else
      code.line(accumulator + " += " + text + ";");
  });
  if (writesCount)
    code.line("++count;");
  closeWindow();

  // The epilogue, and the store.
  std::string mean = isMax ? accumulator : accumulator + " / " + divisor(output);
  code.bind(pool->getResult(0), code.atom(sumType, isMax ? mean : "(" + mean + ")"));
  Value result = code.read(code.storedValue(0), index, laneDim);
  code.store(0, code.placeIn(code.resultMemory(0), index), result);
  CudaLaunch launch;
  launch.threads = kThreads;
  launch.gridX = threads.ceilDiv(kThreads);
  return code.finish(launch);
}

FailureOr<EmittedKernel> cuda::emitPool(KernelCode &code, bool isAligned) { return PoolEmitter(code, isAligned).emit(); }
