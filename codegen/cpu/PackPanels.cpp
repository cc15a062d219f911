// Reorders of a weight into the panels that products read (ir/Kernel.h, panelsOf). Parameters are packed once; in training every step
// packs the weights as the last one left them, forwards and, mirrored, for the gradient of the input, so that the loops are chosen
// for the caches on both sides:
//
//   task     a panel and a block of what is contracted, small enough for its part of the panel to stay in L1
//   within   a few columns at a time, each of which is read along its own memory, so that a cache line is used up before it goes
//
// Columns that lie side by side in the source are copied in vectors.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/VectorLoop.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

/// Elements of a column that a task writes: with panels of 64 f32 columns it writes 36 KiB.
constexpr int64_t kBlockElements = 144;
/// Columns that are read at the same time: as many cache lines fit into one set of L1.
constexpr int64_t kColumnsAtOnce = 8;

/// A loop of the packed layout.
struct Loop {
  unsigned dim;
  int64_t extent, step;
  int64_t from, to; ///< elements between iterations, in the source and in the panels
};

/// What a kernel has to be for these loops: a reorder of memory with known strides, padded along its columns only.
struct Plan {
  Value source;
  SmallVector<Loop> outer; ///< iterated by tasks
  Loop blocked;            ///< a task's block of it
  SmallVector<Loop> inner;
  Loop columns;
  int64_t block = 1;       ///< iterations of `blocked` per task
  int64_t extent = 0;      ///< of the source along the columns
  bool isFull = false;     ///< no panel has columns beyond it
};

std::optional<Plan> planOf(nn::KernelOp kernel) {
  if (kernel.getNumResults() != 1 || kernel.getInPlace())
    return std::nullopt;
  Plan plan;
  auto reorder = kernel.getTerminator()->getOperand(0).getDefiningOp<nn::ReorderOp>();
  auto result = cast<RankedTensorType>(kernel.getResult(0).getType());
  if (!reorder || !nn::isPacked(result))
    return std::nullopt;
  Value input = plan.source = reorder.getInput();
  auto source = cast<RankedTensorType>(input.getType());
  if (nn::isPacked(source) || !source.hasStaticShape())
    return std::nullopt;
  SmallVector<nn::Dim> strides;
  if (isa<BlockArgument>(input)) {
    strides = nn::stridesOf(source);
  } else {
    std::optional<nn::StridedView> view = nn::stridedViewOf(input);
    if (!view || !isa<BlockArgument>(view->source) || nn::isPacked(cast<RankedTensorType>(view->source.getType())))
      return std::nullopt;
    strides = view->strides;
  }
  nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(result.getEncoding()).getPack();
  SmallVector<Loop> loops;
  SmallVector<int64_t> reach(source.getRank(), 1);
  int64_t to = 1;
  for (size_t i = pack.loopCount(); i-- > 0; to *= pack.extent(i)) {
    std::optional<int64_t> stride = nn::constantOf(strides[pack.dim(i)]);
    if (!stride)
      return std::nullopt;
    unsigned dim = pack.dim(i);
    loops.insert(loops.begin(), {dim, pack.extent(i), pack.step(i), *stride * pack.step(i), to});
    reach[dim] += (pack.extent(i) - 1) * pack.step(i);
  }
  if (loops.size() < 2 || loops.back().step != 1)
    return std::nullopt;
  plan.columns = loops.pop_back_val();
  plan.extent = source.getDimSize(plan.columns.dim);
  plan.isFull = reach[plan.columns.dim] <= plan.extent;
  for (int64_t dim = 0; dim < source.getRank(); ++dim)
    if (dim != plan.columns.dim && reach[dim] > source.getDimSize(dim))
      return std::nullopt;

  SmallVector<Loop> contracted;
  for (const Loop &loop : loops)
    (loop.dim == plan.columns.dim ? plan.outer : contracted).push_back(loop);
  if (contracted.empty())
    return std::nullopt;
  llvm::stable_sort(contracted, [](const Loop &a, const Loop &b) { return std::abs(a.from) > std::abs(b.from); });
  int64_t elements = 1;
  while (contracted.size() > 1 && elements * contracted.back().extent <= kBlockElements) {
    plan.inner.insert(plan.inner.begin(), contracted.back());
    elements *= contracted.pop_back_val().extent;
  }
  plan.blocked = contracted.pop_back_val();
  plan.block = std::max<int64_t>(1, std::min(plan.blocked.extent, kBlockElements / elements));
  plan.outer.append(contracted);
  return plan;
}

class PackEmitter {
public:
  PackEmitter(KernelBuilder &b, nn::KernelOp kernel, const Plan &plan) : b(b), kernel(kernel), plan(plan) {}

  EmittedKernel emit(StringRef symbol) {
    int64_t blocks = (plan.blocked.extent + plan.block - 1) / plan.block, tasks = blocks;
    SmallVector<Value> extents;
    b.beginKernel(symbol);
    KernelOperands operands(b, kernel);
    const TensorView &from = operands.view(plan.source), &to = operands.result(0);
    element = from.storage();
    for (const Loop &loop : plan.outer) {
      extents.push_back(b.i64(loop.extent));
      tasks *= loop.extent;
    }
    extents.push_back(b.i64(blocks));
    b.loop(b.beginTask, b.endTask, [&](Value task) {
      SmallVector<Value> place = b.delinearize(task, extents);
      Value source = b.i64(0), target = b.i64(0), column = b.i64(0);
      for (auto [loop, position] : llvm::zip(plan.outer, place)) {
        source = b.add(source, b.mul(position, b.i64(loop.from)));
        target = b.add(target, b.mul(position, b.i64(loop.to)));
        if (loop.dim == plan.columns.dim)
          column = b.add(column, b.mul(position, b.i64(loop.step)));
      }
      Value begin = b.mul(place.back(), b.i64(plan.block));
      Value end = b.min(b.add(begin, b.i64(plan.block)), b.i64(plan.blocked.extent));
      Value valid = b.max(b.min(b.i64(plan.columns.extent), b.sub(b.i64(plan.extent), column)), b.i64(0));
      bool sideBySide = plan.columns.from == 1;
      int64_t atOnce = sideBySide ? plan.columns.extent : std::min(kColumnsAtOnce, plan.columns.extent);
      b.loop(b.i64(0), b.i64(plan.columns.extent), b.i64(atOnce), [&](Value first) {
        Value last = b.add(first, b.i64(atOnce));
        if (plan.columns.extent % atOnce != 0)
          last = b.min(last, b.i64(plan.columns.extent));
        Value endValid = plan.isFull ? last : b.max(b.min(last, valid), first);
        b.loop(begin, end, [&](Value position) {
          emitInner(plan.inner, b.offset(from.pointer, element, b.add(source, b.mul(position, b.i64(plan.blocked.from)))),
                    b.offset(to.pointer, element, b.add(target, b.mul(position, b.i64(plan.blocked.to)))),
                    [&](Value in, Value out) { copyColumns(in, out, first, endValid, last); });
        });
      });
    });
    b.endKernel();
    return {nn::constantDim(b.getContext(), tasks), nn::constantDim(b.getContext(), 0)};
  }

private:
  void emitInner(ArrayRef<Loop> loops, Value in, Value out, llvm::function_ref<void(Value, Value)> body) {
    if (loops.empty())
      return body(in, out);
    const Loop &loop = loops.front();
    b.loop(b.i64(0), b.i64(loop.extent), [&](Value i) {
      emitInner(loops.drop_front(), b.offset(in, element, b.mul(i, b.i64(loop.from))),
                b.offset(out, element, b.mul(i, b.i64(loop.to))), body);
    });
  }

  /// Columns [first, end) from the source, zeros in [end, last).
  void copyColumns(Value in, Value out, Value first, Value end, Value last) {
    if (plan.columns.from == 1) {
      int64_t lanes = b.target.lanes(element.getIntOrFloatBitWidth());
      vectorLoop(b, first, end, lanes, element.getIntOrFloatBitWidth(), [&](Value column, int64_t count, Value mask) {
        Value source = b.offset(in, element, column), target = b.offset(out, element, column);
        if (count == 1)
          b.store(b.load(element, source), target);
        else
          b.storeVector(b.loadVector(VectorType::get({lanes}, element), source, mask), target, mask);
      });
    } else {
      b.loop(first, end, [&](Value column) {
        b.store(b.load(element, b.offset(in, element, b.mul(column, b.i64(plan.columns.from)))), b.offset(out, element, column));
      });
    }
    if (plan.isFull)
      return;
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
    b.loop(end, last, [&](Value column) { b.store(zero, b.offset(out, element, column)); });
  }

  KernelBuilder &b;
  nn::KernelOp kernel;
  const Plan &plan;
  Type element;
};

} // namespace

std::optional<EmittedKernel> codegen::emitPackPanels(KernelBuilder &builder, nn::KernelOp kernel, StringRef symbol) {
  std::optional<Plan> plan = planOf(kernel);
  if (!plan)
    return std::nullopt;
  return PackEmitter(builder, kernel, *plan).emit(symbol);
}
