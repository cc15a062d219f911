// Reduces one pooling window; see PoolWindow.h.

#include "codegen/cpu/PoolWindow.h"

#include "codegen/cpu/ElementAccess.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

/// Taps up to which a window is unrolled, times the values per tap: more would only fill the instruction cache.
static constexpr int64_t kMaxUnrolledLoads = 64;

namespace {

/// Emission of one window.
class PoolWindow {
public:
  PoolWindow(KernelBuilder &b, Operation *pool, ValueRange output, ValueRange extents,
             TypeRange types, PoolLoader load)
      : b(b), pool(pool), extents(extents), types(types), load(load),
        isMax(isa<nn::MaxPoolOp, nn::AdaptiveMaxPoolOp>(pool)) {
    llvm::TypeSwitch<Operation *>(pool)
        .Case<nn::MaxPoolOp>([&](auto op) { readDims(op); })
        .Case<nn::AvgPoolOp>([&](auto op) {
          readDims(op);
          countsPadding = op.getCountIncludePad();
        })
        .Case<nn::AdaptiveMaxPoolOp, nn::AdaptiveAvgPoolOp>([&](auto op) { readParts(op, output); });
    auto input = cast<RankedTensorType>(pool->getOperand(0).getType());
    auto result = cast<RankedTensorType>(pool->getResult(0).getType());
    isUnsigned = input.getElementType().isUnsignedInteger();
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (!partEnds.empty()) {
        staysInside.push_back(true);
        continue;
      }
      starts.push_back(b.sub(b.mul(output[i], b.i64(dim.stride)), b.i64(dim.padBegin)));
      staysInside.push_back(neverLeaves(dim, nn::dimOf(input, i + 2), nn::dimOf(result, i + 2)));
    }
  }

  SmallVector<Value> emit() {
    if (!partEnds.empty())
      return emitParts();
    int64_t loads = types.size();
    for (const nn::WindowDim &dim : dims)
      loads *= dim.kernel;
    bool unrolls = loads <= kMaxUnrolledLoads;
    bool alwaysInside = llvm::all_of(staysInside, [](bool inside) { return inside; });
    if (alwaysInside)
      return unrolls ? emitUnrolled() : emitLoops();
    if (!unrolls)
      return emitLoops();
    auto choice = scf::IfOp::create(b, types, isInside(), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    scf::YieldOp::create(b, emitUnrolled());
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, emitLoops());
    return choice.getResults();
  }

private:
  template <typename Op> void readDims(Op op) {
    for (size_t i = 0; i < op.getKernel().size(); ++i)
      dims.push_back({op.getKernel()[i], op.getStrides()[i], op.getDilations()[i],
                      op.getPadsBegin()[i], op.getPadsEnd()[i], op.getCeilMode()});
  }

  /// Output i of an adaptive pool covers i * in / out up to the ceiling of (i + 1) * in / out. Where `out` divides `in` that is
  /// a window like others.
  template <typename Op> void readParts(Op op, ValueRange output) {
    auto input = cast<RankedTensorType>(op.getX().getType());
    bool isEven = true;
    for (auto [i, parts] : llvm::enumerate(op.getOutputSize())) {
      std::optional<int64_t> extent = nn::constantOf(nn::dimOf(input, i + 2));
      isEven &= extent && *extent % parts == 0;
      int64_t size = extent ? *extent / parts : 1;
      dims.push_back({size, size, 1, 0, 0, false});
    }
    if (isEven)
      return;
    for (auto [i, parts] : llvm::enumerate(op.getOutputSize())) {
      starts.push_back(b.div(b.mul(output[i], extents[i]), b.i64(parts)));
      partEnds.push_back(b.ceilDiv(b.mul(b.add(output[i], b.i64(1)), extents[i]), b.i64(parts)));
    }
  }

  static int64_t reachOf(const nn::WindowDim &dim) { return *dim.dilatedKernel().get(); }

  static bool neverLeaves(const nn::WindowDim &dim, nn::Dim input, nn::Dim output) {
    if (dim.padBegin > 0)
      return false;
    auto inputExtent = nn::constantOf(input), outputExtent = nn::constantOf(output);
    if (inputExtent && outputExtent)
      return (*outputExtent - 1) * dim.stride + reachOf(dim) <= *inputExtent;
    // Rounding down counts only windows that fit.
    return dim.padEnd == 0 && !dim.ceilMode;
  }

  Value isInside() {
    Value inside;
    auto require = [&](Value condition) {
      inside = inside ? b.createOrFold<arith::AndIOp>(inside, condition) : condition;
    };
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (staysInside[i])
        continue;
      if (dim.padBegin > 0)
        require(b.less(b.i64(-1), starts[i]));
      require(b.less(b.add(starts[i], b.i64(reachOf(dim) - 1)), extents[i]));
    }
    return inside;
  }

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  /// Sums and maxima of half precision are kept in f32.
  Type accumulatorOf(Type type) { return wideType(type); }

  Value identity(Type type) {
    if (!isMax)
      return arith::ConstantOp::create(b, b.getZeroAttr(type));
    auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
    if (!integer)
      return b.floatConstant(type, -std::numeric_limits<double>::infinity());
    unsigned width = integer.getWidth();
    APInt least = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
    TypedAttr attr = b.getIntegerAttr(integer, least);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = SplatElementsAttr::get(vector, attr);
    return arith::ConstantOp::create(b, attr);
  }

  SmallVector<Value> identities() {
    SmallVector<Value> values;
    for (Type type : types)
      values.push_back(identity(accumulatorOf(type)));
    return values;
  }

  Value combine(Value sum, Value x) {
    if (isa<FloatType>(getElementTypeOrSelf(x.getType()))) {
      x = widen(b, x);
      if (!isMax)
        return arith::AddFOp::create(b, sum, x);
      // As "sum > x ? sum : x" the maximum is one instruction, and a NaN in x wins; one in sum is kept by the second select.
      Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, sum, x);
      Value larger = arith::SelectOp::create(b, greater, sum, x);
      Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, sum, sum);
      return arith::SelectOp::create(b, isNaN, sum, larger);
    }
    if (!isMax)
      return arith::AddIOp::create(b, sum, x);
    if (isUnsigned)
      return arith::MaxUIOp::create(b, sum, x);
    return arith::MaxSIOp::create(b, sum, x);
  }

  /// The result for sums over `count` positions.
  SmallVector<Value> finish(ArrayRef<Value> sums, Value count) {
    SmallVector<Value> results;
    for (auto [sum, type] : llvm::zip(sums, types)) {
      if (isMax) {
        results.push_back(toStorage(b, getElementTypeOrSelf(type), sum));
        continue;
      }
      Type element = getElementTypeOrSelf(sum.getType());
      bool isFloat = isa<FloatType>(element);
      Value divisor = isFloat ? b.createOrFold<arith::SIToFPOp>(element, count)
                              : b.createOrFold<arith::TruncIOp>(element, count);
      if (auto vector = dyn_cast<VectorType>(sum.getType()))
        divisor = vector::BroadcastOp::create(b, vector, divisor);
      Value mean;
      if (isFloat)
        mean = arith::DivFOp::create(b, sum, divisor);
      else if (isUnsigned)
        mean = arith::DivUIOp::create(b, sum, divisor);
      else
        mean = arith::DivSIOp::create(b, sum, divisor);
      results.push_back(toStorage(b, getElementTypeOrSelf(type), mean));
    }
    return results;
  }

  //===--------------------------------------------------------------------===//
  // Windows
  //===--------------------------------------------------------------------===//

  /// The whole window, tap by tap.
  SmallVector<Value> emitUnrolled() {
    int64_t taps = 1;
    for (const nn::WindowDim &dim : dims)
      taps *= dim.kernel;
    SmallVector<Value> sums;
    for (int64_t tap = 0; tap < taps; ++tap) {
      SmallVector<Value> position(dims.size());
      int64_t rest = tap;
      for (size_t i = dims.size(); i-- > 0;) {
        position[i] = b.add(starts[i], b.i64(rest % dims[i].kernel * dims[i].dilation));
        rest /= dims[i].kernel;
      }
      SmallVector<Value> values = load(position);
      if (sums.empty() && isMax) {
        for (Value value : values)
          sums.push_back(widen(b, value));
        continue;
      }
      if (sums.empty())
        sums = identities();
      for (auto [sum, value] : llvm::zip(sums, values))
        sum = combine(sum, value);
    }
    return finish(sums, b.i64(taps));
  }

  /// The part of the window that lies inside the input, as loops.
  SmallVector<Value> emitLoops() {
    SmallVector<Value> begins, ends;
    Value count = b.i64(1);
    for (auto [i, dim] : llvm::enumerate(dims)) {
      Value begin = b.i64(0), end = b.i64(dim.kernel);
      if (!staysInside[i]) {
        Value dilation = b.i64(dim.dilation);
        // ceil(x / dilation) for x > 0, else 0: how many taps lie before position `start + x`.
        auto tapsBefore = [&](Value x) { return b.ceilDiv(b.max(x, b.i64(0)), dilation); };
        if (dim.padBegin > 0)
          begin = tapsBefore(b.sub(b.i64(0), starts[i]));
        Value padded = b.add(extents[i], b.i64(dim.padEnd));
        if (countsPadding)
          count = b.mul(count, b.min(end, tapsBefore(b.sub(padded, starts[i]))));
        end = b.min(end, tapsBefore(b.sub(extents[i], starts[i])));
        // A dilated window can straddle a short input without touching it.
        end = b.max(end, begin);
      } else if (countsPadding) {
        count = b.mul(count, end);
      }
      if (!countsPadding)
        count = b.mul(count, b.sub(end, begin));
      begins.push_back(begin);
      ends.push_back(end);
    }
    SmallVector<Value> position;
    return finish(emitLoop(begins, ends, position, identities()), b.max(count, b.i64(1)));
  }

  /// The window of an adaptive pool.
  SmallVector<Value> emitParts() {
    SmallVector<Value> begins(dims.size(), b.i64(0)), ends;
    for (auto [start, end] : llvm::zip(starts, partEnds))
      ends.push_back(b.sub(end, start));
    SmallVector<Value> position;
    return finish(emitLoop(begins, ends, position, identities()), b.product(ends));
  }

  SmallVector<Value> emitLoop(ArrayRef<Value> begins, ArrayRef<Value> ends,
                              SmallVector<Value> &position, ValueRange sums) {
    size_t i = position.size();
    if (i == dims.size()) {
      SmallVector<Value> next;
      for (auto [sum, value] : llvm::zip(sums, load(position)))
        next.push_back(combine(sum, value));
      return next;
    }
    return b.loopCarried(begins[i], ends[i], b.i64(1), sums, [&](Value tap, ValueRange carried) {
      position.push_back(b.add(starts[i], b.mul(tap, b.i64(dims[i].dilation))));
      SmallVector<Value> next = emitLoop(begins, ends, position, carried);
      position.pop_back();
      return next;
    });
  }

  KernelBuilder &b;
  Operation *pool;
  ValueRange extents;
  TypeRange types;
  PoolLoader load;
  bool isMax, isUnsigned = false, countsPadding = false;
  SmallVector<nn::WindowDim> dims;
  SmallVector<Value> starts;     ///< first position of the window, possibly in the padding
  SmallVector<Value> partEnds;   ///< of an adaptive pool with uneven windows: the end of each
  SmallVector<bool> staysInside; ///< known per dimension: no window leaves the input
};

} // namespace

SmallVector<Value> codegen::emitPoolWindow(KernelBuilder &b, Operation *pool, ValueRange output,
                                           ValueRange inputExtents, TypeRange types,
                                           PoolLoader load) {
  return PoolWindow(b, pool, output, inputExtents, types, load).emit();
}
