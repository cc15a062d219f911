// The index maps of the gradients of pooling: an element of the result looks at every window that it lies in. The number of those
// windows along a dimension is fixed by kernel, stride and dilation, so the map has no loops.

#include "ir/NN.h"
#include "ir/ops/IndexMath.h"
#include "ir/ops/InferenceHelpers.h"
#include "ir/ops/ScalarFormula.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

namespace {

using Relation = ScalarFormula::Relation;

/// A window that the element at hand may lie in, along one dimension.
struct Candidate {
  Value window;  ///< its number, within the result of the pool
  Value isValid; ///< i1: there is such a window and the element is one of its taps
  Value tap;     ///< which
  Value begin;   ///< position of tap 0 in x; may lie in the padding
  bool alwaysExists = false; ///< there is such a window, wherever the element lies
};

/// Calls `visit` with every way to choose one of `counts[i]` for each i.
void forEachChoice(ArrayRef<size_t> counts, llvm::function_ref<void(ArrayRef<size_t>)> visit) {
  SmallVector<size_t> choice(counts.size(), 0);
  while (true) {
    visit(choice);
    size_t i = choice.size();
    while (i-- > 0) {
      if (++choice[i] < counts[i])
        break;
      choice[i] = 0;
    }
    if (i == SIZE_MAX)
      return;
  }
}

/// Largest number of windows that an element may lie in along a dimension.
int64_t candidateCount(int64_t kernel, int64_t stride, int64_t dilation) {
  return ((kernel - 1) * dilation + stride) / stride;
}

/// What the two maps share. `Op` has the attributes of a pool, its result the pool's input type.
template <typename Op> class Windows {
public:
  Windows(Op op, MovementAccess &access)
      : op(op), access(access), math(access), x(cast<RankedTensorType>(op.getType())),
        pooled(cast<RankedTensorType>(op.getG().getType())) {
    for (unsigned i = 0; i < spatialRank(); ++i)
      candidates.push_back(candidatesOf(i));
  }

  unsigned spatialRank() { return op.getKernel().size(); }
  Value inExtent(unsigned i) { return access.extent(dimOf(x, 2 + i)); }
  Value outExtent(unsigned i) { return access.extent(dimOf(pooled, 2 + i)); }

  /// Calls `visit` for each choice of windows, one candidate per dimension, with the condition that it counts.
  void forEach(llvm::function_ref<void(ArrayRef<Candidate>, Value isValid)> visit) {
    SmallVector<size_t> counts;
    for (const auto &list : candidates)
      counts.push_back(list.size());
    forEachChoice(counts, [&](ArrayRef<size_t> choice) {
      SmallVector<Candidate> chosen;
      Value isValid;
      for (auto [list, number] : llvm::zip(candidates, choice)) {
        chosen.push_back(list[number]);
        isValid = isValid ? math.both(isValid, chosen.back().isValid) : chosen.back().isValid;
      }
      visit(chosen, isValid);
    });
  }

  /// The element of g that belongs to these windows; any element where they do not exist.
  Value loadGradient(unsigned operand, ArrayRef<Candidate> windows) {
    SmallVector<Value> indices(access.indices.take_front(2));
    for (auto [i, candidate] : llvm::enumerate(windows))
      indices.push_back(candidate.alwaysExists ? candidate.window : math.clamp(candidate.window, outExtent(i)));
    return access.load(operand, indices);
  }

  /// Tap `tap` of every window lies within x along dimension i, whatever the window.
  bool isNeverPadding(unsigned i, int64_t tap) {
    int64_t in = x.getDimSize(2 + i), out = pooled.getDimSize(2 + i);
    int64_t first = tap * op.getDilations()[i] - op.getPadsBegin()[i];
    return !ShapedType::isDynamic(in) && !ShapedType::isDynamic(out) && first >= 0 && first + (out - 1) * op.getStrides()[i] < in;
  }

  Op op;
  MovementAccess &access;
  IndexMath math;
  RankedTensorType x, pooled;

private:
  SmallVector<Candidate> candidatesOf(unsigned i) {
    int64_t kernel = op.getKernel()[i], stride = op.getStrides()[i], dilation = op.getDilations()[i];
    int64_t pad = op.getPadsBegin()[i];
    Value padded = math.add(access.indices[2 + i], pad);
    // The last window that begins at or before the element; the others come before it.
    Value last = math.div(padded, math.constant(stride));
    SmallVector<Candidate> list;
    for (int64_t back = 0; back < candidateCount(kernel, stride, dilation); ++back) {
      Candidate candidate;
      candidate.window = math.add(last, -back);
      Value begin = math.mul(candidate.window, stride);
      candidate.begin = math.add(begin, -pad);
      Value distance = math.sub(padded, begin);
      // What shapes decide is not asked again for each element: with windows side by side that fill x, everything.
      int64_t in = x.getDimSize(2 + i), out = pooled.getDimSize(2 + i), reach = (kernel - 1) * dilation + 1;
      candidate.alwaysExists = back == 0 && !ShapedType::isDynamic(in) && !ShapedType::isDynamic(out) && (in - 1 + pad) / stride < out;
      Value always = arith::ConstantOp::create(access.builder, access.loc, access.builder.getBoolAttr(true));
      Value exists = candidate.alwaysExists ? always
                                            : math.both(math.less(math.constant(-1), candidate.window),
                                                        math.less(candidate.window, outExtent(i)));
      Value isNear = (back + 1) * stride <= reach ? always : math.less(distance, math.constant(reach));
      candidate.isValid = math.both(exists, isNear);
      candidate.tap = distance;
      if (dilation > 1) {
        Value step = math.constant(dilation);
        candidate.tap = math.div(distance, step);
        candidate.isValid = math.both(candidate.isValid, math.isEqual(math.mod(distance, step), math.constant(0)));
      }
      list.push_back(candidate);
    }
    return list;
  }

  SmallVector<SmallVector<Candidate>> candidates;
};

} // namespace

/// Batches and channels lie side by side in every operand; positions do not.
static LaneSource poolLanes(unsigned resultDim) {
  return resultDim < 2 ? LaneSource::along(resultDim) : LaneSource::scattered();
}

//===----------------------------------------------------------------------===//
// nn.max_pool_gradient
//===----------------------------------------------------------------------===//

Value MaxPoolGradientOp::buildElement(MovementAccess &access) {
  Windows<MaxPoolGradientOp> windows(*this, access);
  IndexMath &math = windows.math;
  ScalarFormula f(access.builder, access.loc);
  Value own = access.load(0, access.indices);
  Value sum = f.constant(own, 0.0);
  Value lowest = f.constant(own, -std::numeric_limits<double>::infinity());
  SmallVector<size_t> taps(getKernel().begin(), getKernel().end());

  windows.forEach([&](ArrayRef<Candidate> chosen, Value isValid) {
    // The number of the element's own tap in the window, row by row.
    Value ownTap = math.constant(0);
    for (auto [i, candidate] : llvm::enumerate(chosen))
      ownTap = math.add(math.mul(ownTap, taps[i]), candidate.tap);
    Value isBeaten;
    int64_t number = 0;
    forEachChoice(taps, [&](ArrayRef<size_t> tap) {
      SmallVector<Value> indices(access.indices.take_front(2));
      Value isInside;
      for (auto [i, candidate] : llvm::enumerate(chosen)) {
        Value at = math.add(candidate.begin, static_cast<int64_t>(tap[i]) * getDilations()[i]);
        if (candidate.alwaysExists && windows.isNeverPadding(i, static_cast<int64_t>(tap[i]))) {
          indices.push_back(at);
          continue;
        }
        Value extent = windows.inExtent(i);
        Value inside = math.both(math.less(math.constant(-1), at), math.less(at, extent));
        isInside = isInside ? math.both(isInside, inside) : inside;
        indices.push_back(math.clamp(at, extent));
      }
      Value other = access.load(0, indices);
      if (isInside)
        other = f.select(isInside, other, lowest);
      // Of equal elements the first counts.
      Value isEarlier = math.less(math.constant(number++), ownTap);
      Value beats = f.select(isEarlier, f.compare(Relation::GreaterEqual, other, own), f.compare(Relation::Greater, other, own));
      isBeaten = isBeaten ? math.either(isBeaten, beats) : beats;
    });
    Value zero = f.constant(own, 0.0);
    Value part = f.select(isBeaten, zero, windows.loadGradient(1, chosen));
    sum = f.add(sum, f.select(isValid, part, zero));
  });
  return sum;
}

LaneSource MaxPoolGradientOp::laneSource(unsigned, unsigned resultDim) { return poolLanes(resultDim); }

//===----------------------------------------------------------------------===//
// nn.avg_pool_gradient
//===----------------------------------------------------------------------===//

/// The positions, along dimension i, that the mean of a window counts.
static Value countOf(Windows<AvgPoolGradientOp> &windows, unsigned i, const Candidate &candidate) {
  AvgPoolGradientOp op = windows.op;
  IndexMath &math = windows.math;
  int64_t kernel = op.getKernel()[i], dilation = op.getDilations()[i];
  int64_t padBegin = op.getCountIncludePad() ? op.getPadsBegin()[i] : 0;
  int64_t padEnd = op.getCountIncludePad() ? op.getPadsEnd()[i] : 0;
  Value zero = math.constant(0), step = math.constant(dilation);
  // Taps before `low` or from `high` on do not count.
  Value low = math.max(math.sub(math.constant(-padBegin), candidate.begin), zero);
  Value high = math.max(math.sub(math.add(windows.inExtent(i), padEnd - 1), candidate.begin), zero);
  Value first = math.div(math.add(low, dilation - 1), step);
  Value last = math.min(math.div(high, step), math.constant(kernel - 1));
  return math.max(math.add(math.sub(last, first), 1), math.constant(1));
}

Value AvgPoolGradientOp::buildElement(MovementAccess &access) {
  Windows<AvgPoolGradientOp> windows(*this, access);
  ScalarFormula f(access.builder, access.loc);
  Value sum;
  windows.forEach([&](ArrayRef<Candidate> chosen, Value isValid) {
    Value g = windows.loadGradient(0, chosen), count;
    for (auto [i, candidate] : llvm::enumerate(chosen)) {
      Value along = countOf(windows, i, candidate);
      count = count ? windows.math.mul(count, along) : along;
    }
    Value divisor = windows.math.splatLike(windows.math.toFloat(count, getElementTypeOrSelf(g.getType())), g);
    Value part = f.select(isValid, f.div(g, divisor), f.constant(g, 0.0));
    sum = sum ? f.add(sum, part) : part;
  });
  return sum;
}

LaneSource AvgPoolGradientOp::laneSource(unsigned, unsigned resultDim) { return poolLanes(resultDim); }

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The pool that a gradient belongs to, on an operand that nothing computes, must have a result of g's type.
template <typename Op, typename Pool> static LogicalResult verifyPool(Op op, llvm::function_ref<Pool(OpBuilder &, Value)> create) {
  Block block;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&block);
  Type input = logicalType(op.getType());
  Value x = UnrealizedConversionCastOp::create(builder, op.getLoc(), input, ValueRange()).getResult(0);
  if (std::optional<std::string> why = whyInvalid(create(builder, x)))
    return op.emitOpError("pool_gradient_c1: there is no such pool of ")
           << describe(input) << " to " << describe(op.getG().getType()) << ": " << *why;
  return success();
}

LogicalResult MaxPoolGradientOp::verify() {
  return verifyPool<MaxPoolGradientOp, MaxPoolOp>(*this, [&](OpBuilder &builder, Value x) {
    return MaxPoolOp::create(builder, getLoc(), logicalType(getG().getType()), x, getKernel(), getStrides(), getDilations(),
                             getPadsBegin(), getPadsEnd(), getCeilMode());
  });
}

LogicalResult AvgPoolGradientOp::verify() {
  return verifyPool<AvgPoolGradientOp, AvgPoolOp>(*this, [&](OpBuilder &builder, Value x) {
    return AvgPoolOp::create(builder, getLoc(), logicalType(getG().getType()), x, getKernel(), getStrides(), getDilations(),
                             getPadsBegin(), getPadsEnd(), getCeilMode(), getCountIncludePad());
  });
}
