// Kernels that compute each result element by itself: elementwise chains, movements (reshape, transpose, slice, concat, pad,
// expand, gather, resize, reorder) and mixtures of both. The loops run over the result in its memory order and pull each element
// through the body (ElementAccess.h), so that nothing between operands and result is ever stored.
//
// Where the elements of a row lie side by side in every operand the row is computed in vectors. Elsewhere the innermost loop is
// scalar, and is marked free of dependences for LLVM's vectoriser: a kernel whose result shares a buffer with an operand reads
// and writes it at the same index only.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/LoopDims.h"
#include "codegen/cpu/VectorLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

/// Result bytes of one task: large against the cost of handing out a task, small enough to share the work evenly and to leave
/// operands and result of a task in the cache.
static constexpr int64_t kTaskBytes = 32 << 10;

namespace {

/// A result and the loops over its memory, outermost first. In a packed result a loop is one of the layout.
struct ResultNest {
  unsigned result;
  RankedTensorType type;
  SmallVector<LoopDim> loops;
  nn::Dim rows;        ///< product of all loops but the last
  int64_t rowsPerTask; ///< when a row is short
  int64_t rowPart;     ///< elements of a row per task when a row is long or dynamic; 0 = whole rows
  nn::Dim tasks;
};

class ElementwiseEmitter {
public:
  ElementwiseEmitter(KernelBuilder &b, nn::KernelOp kernel) : b(b), kernel(kernel) {
    for (unsigned result = 0; result < kernel.getNumResults(); ++result)
      nests.push_back(nestOf(result));
  }

  nn::Dim tasks() {
    nn::Dim total = nn::constantDim(b.getContext(), 0);
    for (const ResultNest &nest : nests)
      if (!sharesLoops(nest))
        total = total + nest.tasks;
    return total;
  }

  void emit(StringRef symbol) {
    b.beginKernel(symbol);
    operands.emplace(b, kernel);
    // Results of different shapes have task ranges one after another.
    Value first = b.i64(0);
    for (const ResultNest &nest : nests) {
      if (sharesLoops(nest))
        continue;
      Value count = b.dim(nest.tasks);
      Value begin = b.beginTask, end = b.endTask;
      if (llvm::any_of(nests, [&](const ResultNest &other) { return !sharesLoops(other) && &other != &nest; })) {
        begin = b.min(b.max(b.sub(begin, first), b.i64(0)), count);
        end = b.min(b.max(b.sub(end, first), b.i64(0)), count);
      }
      emitNest(nest, begin, end);
      first = b.add(first, count);
    }
    b.endKernel(operands->status());
  }

private:
  //===--------------------------------------------------------------------===//
  // The iteration space
  //===--------------------------------------------------------------------===//

  Value yielded(unsigned result) { return nn::storedValue(kernel, result); }

  /// Results of the same type as the first are computed in its loops, and share what they have in common.
  bool sharesLoops(const ResultNest &nest) {
    return nest.result != 0 && nest.type == nests.front().type;
  }

  /// Each step along `outer` in the result's memory leads right behind the last element along `inner`.
  bool isStoredInOneRun(unsigned result, RankedTensorType type, int64_t outer, int64_t inner) {
    nn::StridedView view = nn::storedView(kernel, result);
    return view.strides[outer] == view.strides[inner] * nn::dimOf(type, inner);
  }

  ResultNest nestOf(unsigned result) {
    ResultNest nest;
    nest.result = result;
    nest.type = cast<RankedTensorType>(yielded(result).getType());
    MLIRContext *context = b.getContext();
    if (nn::isPacked(nest.type)) {
      nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(nest.type.getEncoding()).getPack();
      for (size_t loop = 0; loop < pack.loopCount(); ++loop)
        nest.loops.push_back({nn::constantDim(context, pack.extent(loop)),
                              static_cast<unsigned>(pack.dim(loop)), pack.step(loop)});
    } else {
      SmallVector<RankedTensorType> leaves = {nest.type};
      bool flattens = true;
      // Results that share the loops must agree that their dimensions can be flattened.
      for (unsigned other = 0; other < kernel.getNumResults(); ++other)
        if (other == result || kernel.getResult(other).getType() == nest.type)
          flattens &= collectLeaves(yielded(other), {}, leaves);
      nest.loops = loopsOver(nest.type, [&](int64_t outer, int64_t inner) {
        return flattens && canFlatten(leaves, nest.type, outer, inner) &&
               isStoredInOneRun(result, nest.type, outer, inner);
      });
      if (nest.loops.empty())
        nest.loops.push_back({nn::constantDim(context, 1), 0});
    }

    SmallVector<nn::Dim> outer;
    for (const LoopDim &loop : llvm::drop_end(nest.loops))
      outer.push_back(loop.extent);
    nest.rows = nn::product(outer, context);
    int64_t elementBytes = std::max(1u, nest.type.getElementTypeBitWidth() / 8);
    int64_t taskElements = kTaskBytes / elementBytes;
    nn::Dim row = nest.loops.back().extent;
    std::optional<int64_t> rowElements = nn::constantOf(row);
    if (rowElements && *rowElements <= taskElements) {
      nest.rowPart = 0;
      nest.rowsPerTask = taskElements / std::max<int64_t>(*rowElements, 1);
      nest.tasks = *rowElements == 0 ? nn::constantDim(context, 0) : nest.rows.ceilDiv(nest.rowsPerTask);
    } else {
      nest.rowsPerTask = 1;
      nest.rowPart = taskElements;
      nest.tasks = nn::product({nest.rows, row.ceilDiv(taskElements)}, context);
    }
    return nest;
  }

  //===--------------------------------------------------------------------===//
  // Code
  //===--------------------------------------------------------------------===//

  void emitNest(const ResultNest &nest, Value begin, Value end) {
    SmallVector<Value> outer;
    for (const LoopDim &loop : llvm::drop_end(nest.loops))
      outer.push_back(b.dim(loop.extent));
    Value row = b.dim(nest.loops.back().extent);
    if (nest.rowPart) {
      Value part = b.i64(nest.rowPart), parts = b.ceilDiv(row, part);
      if (nest.loops.size() == 1) {
        // Tasks are neighbours in memory: one loop over all of them.
        emitRow(nest, {}, b.mul(begin, part), b.min(b.mul(end, part), row));
        return;
      }
      b.loop(begin, end, [&](Value task) {
        Value rowBegin = b.mul(b.rem(task, parts), part);
        emitRow(nest, b.delinearize(b.div(task, parts), outer), rowBegin,
                b.min(b.add(rowBegin, part), row));
      });
      return;
    }
    Value perTask = b.i64(nest.rowsPerTask);
    b.loop(b.mul(begin, perTask), b.min(b.mul(end, perTask), b.dim(nest.rows)),
           [&](Value number) { emitRow(nest, b.delinearize(number, outer), b.i64(0), row); });
  }

  /// The logical index of the element at the loops' positions.
  SmallVector<Value> logicalIndex(const ResultNest &nest, ValueRange outer, Value inner) {
    SmallVector<Value> index(nest.type.getRank(), b.i64(0));
    if (index.empty())
      return index;
    for (auto [loop, dim] : llvm::enumerate(nest.loops)) {
      Value position = loop + 1 == nest.loops.size() ? inner : outer[loop];
      index[dim.dim] = b.add(index[dim.dim], b.mul(position, b.i64(dim.step)));
    }
    return index;
  }

  void emitRow(const ResultNest &nest, ValueRange outer, Value begin, Value end) {
    if (nn::isPacked(nest.type)) {
      emitPackedRow(nest, outer, begin, end);
      return;
    }
    SmallVector<unsigned> results = {nest.result};
    for (const ResultNest &other : nests)
      if (nest.result == 0 && sharesLoops(other))
        results.push_back(other.result);
    int64_t lanes = b.target.lanes(widestElementBits(kernel));
    int laneDim = nest.loops.back().dim;
    bool isContiguous = nest.type.getRank() > 0 && llvm::all_of(results, [&](unsigned result) {
      return readsContiguously(yielded(result), laneDim);
    });
    auto emitElements = [&](Value position, int64_t count, Value mask) {
      SmallVector<Value> index = logicalIndex(nest, outer, position);
      ElementReader reader(*operands, count, mask);
      int lane = count > 1 ? laneDim : -1;
      SmallVector<Value> values;
      for (unsigned result : results)
        values.push_back(reader.read(yielded(result), index, lane));
      for (auto [result, value] : llvm::zip(results, values))
        operands->store(result, index, value, lane, mask);
    };
    if (isContiguous) {
      vectorLoop(b, begin, end, lanes, narrowestElementBits(kernel), emitElements);
      return;
    }
    scf::ForOp loop = b.loop(begin, end, [&](Value position) { emitElements(position, 1, {}); });
    hoistInvariants(loop);
    markParallel(loop);
  }

  /// Elements of a packed layout outside the logical extents are zero.
  void emitPackedRow(const ResultNest &nest, ValueRange outer, Value begin, Value end) {
    const TensorView &view = operands->result(nest.result);
    Value row = b.i64(0);
    for (auto [loop, position] : llvm::zip(nest.loops, outer))
      row = b.add(b.mul(row, b.dim(loop.extent)), position);
    row = b.mul(row, b.dim(nest.loops.back().extent));
    scf::ForOp loop = b.loop(begin, end, [&](Value position) {
      SmallVector<Value> index = logicalIndex(nest, outer, position);
      Value isInside;
      for (auto [dim, extent] : llvm::enumerate(view.extents)) {
        if (reachesAtMost(nest, dim, extent))
          continue;
        Value below = b.less(index[dim], extent);
        isInside = isInside ? b.createOrFold<arith::AndIOp>(isInside, below) : below;
      }
      Value pointer = b.offset(view.pointer, view.storage(), b.add(row, position));
      auto storeElement = [&] {
        operands->storeAt(view, pointer, ElementReader(*operands).read(yielded(nest.result), index));
      };
      if (!isInside) {
        storeElement();
        return;
      }
      b.branch(isInside, storeElement, [&] {
        b.store(arith::ConstantOp::create(b, b.getZeroAttr(view.storage())), pointer);
      });
    });
    hoistInvariants(loop);
    markParallel(loop);
  }

  /// The loops over `dim` never pass its extent.
  bool reachesAtMost(const ResultNest &nest, unsigned dim, Value extent) {
    int64_t last = 0;
    for (const LoopDim &loop : nest.loops)
      if (loop.dim == dim)
        last += (*nn::constantOf(loop.extent) - 1) * loop.step;
    std::optional<int64_t> limit = getConstantIntValue(extent);
    return limit && last < *limit;
  }

  /// A strided movement of something in memory is read in place, by its own strides.
  bool readsContiguously(Value value, int laneDim) {
    return codegen::readsContiguously(value, laneDim, [&](Value read, int lane) -> std::optional<bool> {
      Operation *op = read.getDefiningOp();
      if (!op || !nn::isStridedMovement(op) || !operands->isInMemory(read))
        return std::nullopt;
      return lane < 0 || isConstantIntValue(operands->view(read).strides[lane], 1);
    });
  }

  /// Tells LLVM that the iterations of `loop` do not depend on each other through memory.
  void markParallel(scf::ForOp loop) {
    MLIRContext *context = b.getContext();
    auto group = LLVM::AccessGroupAttr::get(context, DistinctAttr::create(UnitAttr::get(context)));
    SmallVector<Operation *> accesses;
    WalkResult result = loop.walk([&](Operation *op) {
      if (isa<scf::ForOp>(op) && op != loop)
        return WalkResult::interrupt();
      if (isa<LLVM::LoadOp, LLVM::StoreOp>(op))
        accesses.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return;
    auto groups = b.getArrayAttr({group});
    for (Operation *op : accesses)
      if (!operands->isStatus(op))
        cast<LLVM::AccessGroupOpInterface>(op).setAccessGroups(groups);
    auto annotation = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                                                    {}, {}, {group});
    loop->setAttr("loop_annotation", annotation);
  }

  KernelBuilder &b;
  nn::KernelOp kernel;
  std::optional<KernelOperands> operands;
  SmallVector<ResultNest> nests;
};

} // namespace

FailureOr<EmittedKernel> codegen::emitElementwise(KernelBuilder &b, nn::KernelOp kernel,
                                                  StringRef symbol) {
  ElementwiseEmitter emitter(b, kernel);
  nn::Dim tasks = emitter.tasks();
  emitter.emit(symbol);
  return EmittedKernel{tasks, nn::constantDim(b.getContext(), 0)};
}
