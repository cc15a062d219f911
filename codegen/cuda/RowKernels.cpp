// Softmax, the normalisations and reductions, each in one kernel, with an elementwise prologue and epilogue. The passes over a row read
// it again: from the second on it comes from the cache.

#include "codegen/RowLoops.h"
#include "codegen/cuda/AxisSweep.h"
#include "codegen/cuda/EmitKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

using Index = AxisSweep::Index;
using Values = AxisSweep::Values;

/// The type in which elements of `tensor` are computed with.
static Type computeType(KernelCode &code, Value tensor) {
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  if (element.isF16() || element.isBF16())
    return code.getF32Type();
  if (auto integer = dyn_cast<IntegerType>(element))
    return code.getIntegerType(integer.getWidth());
  return element;
}

/// Runs the epilogue on the anchor's result at `index` and stores the kernel's results there. `input` (may be null) is the
/// anchor's input at that place.
static void finish(KernelCode &code, Operation *anchor, const Index &index, Value result, Value input) {
  code.bind(anchor->getResult(0), result);
  if (input)
    code.bind(anchor->getOperand(0), input);
  // Everything is read before anything is written: a result may share the buffer of an operand.
  SmallVector<Value> values;
  for (unsigned i = 0; i < code.kernel.getNumResults(); ++i) {
    values.push_back(code.read(code.storedValue(i), index));
    if (code.kernel.getNumResults() > 1)
      code.declare(values.back(), "value");
  }
  for (auto [i, value] : llvm::enumerate(values))
    code.store(i, code.placeIn(code.resultMemory(i), index), value);
  code.forget();
}

FailureOr<EmittedKernel> cuda::emitSoftmax(KernelCode &code) {
  nn::KernelOp kernel = code.kernel;
  Operation *anchor = nn::anchorOf(kernel);
  if (failed(checkRowResults(kernel, anchor)))
    return failure();
  auto logSoftmax = dyn_cast<nn::LogSoftmaxOp>(anchor);
  int64_t axis = logSoftmax ? logSoftmax.getAxis() : cast<nn::SoftmaxOp>(anchor).getAxis();
  auto isSwept = [&](int64_t dim) { return dim == axis; };
  SmallVector<LoopDim> loops = rowLoops(kernel, anchor, {}, isSwept);
  SmallVector<bool> swept;
  for (const LoopDim &loop : loops)
    swept.push_back(isSwept(loop.dim));
  Value x = anchor->getOperand(0);
  Type type = computeType(code, x);
  AxisSweep sweep(code, loops, swept, cast<RankedTensorType>(x.getType()).getRank());
  sweep.begin();
  auto input = [&](const Index &index) { return code.read(x, index); };
  Value largest = sweep.reduce(
      "largest", code.constant(type, -std::numeric_limits<double>::infinity()),
      [&](const Index &index) { return Values{input(index)}; },
      [&](ValueRange a, ValueRange b) { return Values{arith::MaximumFOp::create(code, a[0], b[0])}; })[0];
  auto distance = [&](Value value) { return arith::SubFOp::create(code, value, largest); };
  Value sum = sweep.sum("sum", type, [&](const Index &index) { return math::ExpOp::create(code, distance(input(index))); });
  if (logSoftmax) {
    Value shift = math::LogOp::create(code, sum);
    code.declare(shift, "log_sum");
    sweep.map([&](const Index &index) {
      Value value = input(index);
      finish(code, anchor, index, arith::SubFOp::create(code, distance(value), shift), value);
    });
  } else {
    Value scale = arith::DivFOp::create(code, code.constant(type, 1), sum);
    code.declare(scale, "scale");
    sweep.map([&](const Index &index) {
      Value value = input(index);
      Value power = math::ExpOp::create(code, distance(value));
      finish(code, anchor, index, arith::MulFOp::create(code, power, scale), value);
    });
  }
  return code.finish(sweep.launch());
}

FailureOr<EmittedKernel> cuda::emitNormalisation(KernelCode &code) {
  nn::KernelOp kernel = code.kernel;
  Operation *anchor = nn::anchorOf(kernel);
  if (failed(checkRowResults(kernel, anchor)))
    return failure();
  Norm norm = readNorm(anchor);
  SweptLoops loops = normLoops(kernel, anchor, norm);
  Value x = anchor->getOperand(0);
  Type type = computeType(code, x);
  if (norm.scale)
    code.nameOperand(norm.scale, "scale");
  if (norm.bias)
    code.nameOperand(norm.bias, "bias");
  AxisSweep sweep(code, loops.loops, loops.isSwept, cast<RankedTensorType>(x.getType()).getRank());
  sweep.begin();
  Value count = arith::SIToFPOp::create(
      code, type, arith::IndexCastOp::create(code, code.getI64Type(), code.dim(sweep.elementsPerGroup())));
  if (std::optional<int64_t> elements = nn::constantOf(sweep.elementsPerGroup()))
    count = code.constant(type, double(*elements));
  Value mean;
  if (norm.centres) {
    Value sum = sweep.sum("sum", type, [&](const Index &index) { return code.read(x, index); });
    mean = arith::DivFOp::create(code, sum, count);
    code.declare(mean, "mean");
  }
  auto centred = [&](Value value) -> Value { return mean ? Value(arith::SubFOp::create(code, value, mean)) : value; };
  // The variance as the mean square distance from the mean, which does not cancel.
  Value squares = sweep.sum("squares", type, [&](const Index &index) -> Value {
    Value distance = centred(code.read(x, index));
    return arith::MulFOp::create(code, distance, distance);
  });
  Value variance = arith::AddFOp::create(code, arith::DivFOp::create(code, squares, count), code.constant(type, norm.epsilon));
  Value factor = arith::DivFOp::create(code, code.constant(type, 1), math::SqrtOp::create(code, variance));
  code.declare(factor, "factor");
  auto readAffine = [&](Value tensor, const Index &index) {
    return norm.perChannel ? code.read(tensor, index[1]) : code.read(tensor, ArrayRef<Value>(index).drop_front(norm.firstDim));
  };
  sweep.map([&](const Index &index) {
    Value value = code.read(x, index);
    Value result = arith::MulFOp::create(code, centred(value), factor);
    if (norm.scale)
      result = arith::MulFOp::create(code, result, readAffine(norm.scale, index));
    if (norm.bias)
      result = arith::AddFOp::create(code, result, readAffine(norm.bias, index));
    finish(code, anchor, index, result, value);
  });
  return code.finish(sweep.launch());
}

namespace {

/// A reduction on its way through one kernel or two.
struct ReductionCode {
  explicit ReductionCode(KernelCode &code)
      : code(code), op(cast<nn::ReductionOpInterface>(nn::anchorOf(code.kernel))), x(op->getOperand(0)),
        inputType(cast<RankedTensorType>(x.getType())), axes(op.reducedAxes()), type(computeType(code, x)) {
    SmallVector<RankedTensorType> leaves = {inputType};
    bool joins = collectLeaves(x, {}, leaves) && !op.needsPosition();
    SmallVector<LoopDim> loops = loopsOver(inputType, [&](int64_t outer, int64_t inner) {
      return joins && isReduced(outer) && isReduced(inner) && canFlatten(leaves, inputType, outer, inner);
    });
    SmallVector<bool> swept;
    for (const LoopDim &loop : loops)
      swept.push_back(isReduced(loop.dim));
    sweep.emplace(code, loops, swept, inputType.getRank());
  }

  bool isReduced(int64_t dim) const { return llvm::is_contained(axes, dim); }
  Values neutral() { return op.buildInit(code, code.getLoc(), type); }
  Values combine(ValueRange a, ValueRange b) { return op.buildCombine(code, code.getLoc(), a, b); }
  Values reduce();
  void finishGroup(ValueRange partial);

  KernelCode &code;
  nn::ReductionOpInterface op;
  Value x;
  RankedTensorType inputType;
  SmallVector<int64_t> axes;
  Type type;
  std::optional<AxisSweep> sweep;
};

} // namespace

Values ReductionCode::reduce() {
  return sweep->reduce(
      "partial", neutral(),
      [&](const Index &index) {
        Value position;
        if (op.needsPosition()) {
          // The number within the reduced dimensions, in row-major order.
          Value number = code.size(0);
          for (int64_t axis : axes)
            number = code.add(code.mul(number, code.dim(nn::dimOf(inputType, axis))), index[axis]);
          position = arith::IndexCastOp::create(code, code.getI64Type(), number);
        }
        return op.buildLift(code, code.getLoc(), code.read(x, index), position);
      },
      [&](ValueRange a, ValueRange b) { return combine(a, b); });
}

/// Makes the results of a group from its partial ones, and stores them.
void ReductionCode::finishGroup(ValueRange partial) {
  Value elements = arith::IndexCastOp::create(code, code.getI64Type(), code.dim(sweep->elementsPerGroup()));
  Value count;
  if (std::optional<int64_t> constant = nn::constantOf(sweep->elementsPerGroup()))
    count = code.constant(type, double(*constant));
  else if (isa<FloatType>(type))
    count = arith::SIToFPOp::create(code, type, elements);
  else
    count = type.isInteger(64) ? elements : arith::TruncIOp::create(code, type, elements).getResult();
  // The group's place in the result: reduced dimensions are gone, or have extent 1.
  bool keepsDims = cast<RankedTensorType>(op->getResult(0).getType()).getRank() == inputType.getRank();
  Index index;
  for (int64_t dim = 0; dim < inputType.getRank(); ++dim)
    if (keepsDims || !isReduced(dim))
      index.push_back(isReduced(dim) ? code.size(0) : sweep->group()[dim]);
  sweep->openOnce();
  finish(code, op, index, op.buildFinalize(code, code.getLoc(), partial, count), {});
  code.close();
}

FailureOr<EmittedKernel> cuda::emitReduction(KernelCode &code) {
  ReductionCode reduction(code);
  // Of the types of partial results the workspace holds f32.
  Values neutral = reduction.neutral();
  bool canCut = !reduction.op.needsPosition() && llvm::all_of(neutral, [](Value value) { return value.getType().isF32(); });
  int64_t parts = canCut ? reduction.sweep->cutIntoParts(int64_t(neutral.size())) : 1;
  reduction.sweep->begin();
  Values partial = reduction.reduce();
  if (parts == 1) {
    reduction.finishGroup(partial);
    return code.finish(reduction.sweep->launch());
  }
  reduction.sweep->storeParts(partial);
  EmittedKernel emitted = code.finish(reduction.sweep->launch());
  emitted.workspaceElements = reduction.sweep->workspaceElements();

  std::unique_ptr<KernelCode> behind = code.finisher();
  behind->workspace = KernelCode::Workspace::Read;
  ReductionCode rest(*behind);
  rest.sweep->begin();
  rest.finishGroup(rest.sweep->combineParts("partial", parts, rest.neutral(),
                                            [&](ValueRange a, ValueRange b) { return rest.combine(a, b); }));
  emitted.finish.push_back(behind->finish(rest.sweep->launch()));
  return emitted;
}
