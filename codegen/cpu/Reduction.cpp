// Reductions over dimensions: sums, means, products, extremes and their positions, with an elementwise prologue and epilogue. The
// op gives its monoid (ReductionOpInterface), AxisSweep the loops.

#include "codegen/cpu/AxisSweep.h"
#include "codegen/cpu/EmitKernel.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

class ReductionEmitter {
public:
  ReductionEmitter(KernelBuilder &b, nn::KernelOp kernel)
      : b(b), kernel(kernel), op(cast<nn::ReductionOpInterface>(nn::anchorOf(kernel))),
        input(op->getOperand(0)), inputType(cast<RankedTensorType>(input.getType())),
        axes(op.reducedAxes()) {
    SmallVector<RankedTensorType> leaves = {inputType};
    bool joins = collectLeaves(input, {}, leaves) && !op.needsPosition();
    SmallVector<LoopDim> loops = loopsOver(inputType, [&](int64_t outer, int64_t inner) {
      return joins && isReduced(outer) && isReduced(inner) &&
             canFlatten(leaves, inputType, outer, inner);
    });
    SmallVector<bool> swept;
    for (const LoopDim &loop : loops)
      swept.push_back(isReduced(loop.dim));
    sweep.emplace(b, loops, swept, inputType.getRank(), b.target.lanes(widestElementBits(kernel)));
  }

  nn::Dim tasks() const { return sweep->tasks(); }

  void emit(StringRef symbol) {
    b.beginKernel(symbol);
    KernelOperands operands(b, kernel);
    Location loc = b.getLoc();
    int64_t lanes = sweep->laneCount();
    Type element = inputType.getElementType();
    if (auto integer = dyn_cast<IntegerType>(element))
      element = b.getIntegerType(integer.getWidth());
    element = wideType(element);
    Value elements = b.dim(sweep->elementsPerGroup());
    sweep->forEachGroup([&] {
      SmallVector<Value> partial = sweep->reduce(
          op.buildInit(b, loc, VectorType::get({lanes}, element)),
          [&](const Place &place) {
            Value x = ElementReader(operands, lanes, place.mask).readWide(input, place.index, place.laneDim);
            return op.buildLift(b, loc, x, op.needsPosition() ? positions(place) : Value());
          },
          [&](ValueRange x, ValueRange y) { return op.buildCombine(b, loc, x, y); });
      finish(operands, partial, count(elements, element));
    });
    b.endKernel(operands.status());
  }

private:
  bool isReduced(int64_t dim) const { return llvm::is_contained(axes, dim); }

  Value count(Value elements, Type element) {
    Value value;
    if (isa<FloatType>(element))
      value = b.createOrFold<arith::SIToFPOp>(element, elements);
    else if (element.isInteger(64))
      value = elements;
    else
      value = b.createOrFold<arith::TruncIOp>(element, elements);
    return vector::BroadcastOp::create(b, VectorType::get({sweep->laneCount()}, element), value);
  }

  /// Numbers of the elements at hand within the reduced dimensions, in row-major order.
  Value positions(const Place &place) {
    int64_t lanes = sweep->laneCount();
    auto type = VectorType::get({lanes}, b.getI64Type());
    nn::Shape shape = nn::shapeOf(inputType);
    Value number = b.i64(0);
    Value laneStride = b.i64(1);
    for (int64_t axis : axes) {
      number = b.add(b.mul(number, b.dim(shape[axis])), place.index[axis]);
      if (axis > place.laneDim)
        laneStride = b.mul(laneStride, b.dim(shape[axis]));
    }
    Value splat = vector::BroadcastOp::create(b, type, number);
    if (!sweep->isRowwise())
      return splat;
    SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
    Value steps = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
    return arith::AddIOp::create(
        b, splat, arith::MulIOp::create(b, steps, vector::BroadcastOp::create(b, type, laneStride)));
  }

  void finish(KernelOperands &operands, ValueRange partial, Value count) {
    // The group's place in the result: reduced dimensions are gone, or have extent 1.
    Place group = sweep->group();
    auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
    bool keepsDims = resultType.getRank() == inputType.getRank();
    SmallVector<Value> index;
    int laneDim = -1;
    for (int64_t dim = 0; dim < inputType.getRank(); ++dim) {
      if (isReduced(dim) && !keepsDims)
        continue;
      if (dim == group.laneDim && !sweep->isRowwise())
        laneDim = index.size();
      index.push_back(isReduced(dim) ? b.i64(0) : group.index[dim]);
    }
    Value result = op.buildFinalize(b, b.getLoc(), partial, count);
    bool isOneGroup = sweep->isRowwise();
    if (isOneGroup)
      result = vector::ExtractOp::create(b, result, int64_t{0});
    ElementReader reader(operands, isOneGroup ? 1 : sweep->laneCount(), group.mask);
    reader.bind(op->getResult(0), result);
    SmallVector<Value> values;
    for (unsigned i = 0; i < kernel.getNumResults(); ++i)
      values.push_back(reader.read(operands.yielded(i), index, laneDim));
    for (auto [i, value] : llvm::enumerate(values))
      operands.store(i, index, value, laneDim, group.mask);
  }

  KernelBuilder &b;
  nn::KernelOp kernel;
  nn::ReductionOpInterface op;
  Value input;
  RankedTensorType inputType;
  SmallVector<int64_t> axes;
  std::optional<AxisSweep> sweep;
};

} // namespace

FailureOr<EmittedKernel> codegen::emitReduction(KernelBuilder &b, nn::KernelOp kernel,
                                                StringRef symbol) {
  ReductionEmitter emitter(b, kernel);
  nn::Dim tasks = emitter.tasks();
  emitter.emit(symbol);
  return EmittedKernel{tasks, nn::constantDim(b.getContext(), 0)};
}
