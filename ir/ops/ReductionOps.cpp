// Result types of the reductions, and each as a monoid: lift, neutral element, combination, finish.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"
#include "ir/ops/ScalarFormula.h"

#include <limits>

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// `from` without the dimensions `axes`, or with extent 1 there.
static Shape reducedShape(ArrayRef<Dim> from, ArrayRef<int64_t> axes, bool keepDims,
                          MLIRContext *context) {
  Shape shape;
  for (auto [dim, extent] : llvm::enumerate(from)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(dim)))
      shape.push_back(extent);
    else if (keepDims)
      shape.push_back(constantDim(context, 1));
  }
  return shape;
}

template <typename Adaptor>
static LogicalResult inferReduce(std::optional<Location> loc, Adaptor op,
                                 SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  int64_t previous = -1;
  for (int64_t axis : op.getAxes()) {
    if (axis <= previous || axis >= x.getRank())
      return emitOptionalError(loc, "reduce_c1: axes must be dimensions of ", describe(x),
                               " in ascending order, each at most once; found ", axis);
    previous = axis;
  }
  return appendType(loc, reducedShape(shapeOf(x), op.getAxes(), op.getKeepdims(), x.getContext()),
                    x.getElementType(), types);
}

template <typename Adaptor>
static LogicalResult inferArgReduce(std::optional<Location> loc, Adaptor op,
                                    SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  int64_t axis = op.getAxis();
  if (axis < 0 || axis >= x.getRank())
    return emitOptionalError(loc, "arg_reduce_c1: axis ", axis, " is not a dimension of ",
                             describe(x));
  if (x.getDimSize(axis) == 0)
    return emitOptionalError(loc, "arg_reduce_c2: dimension ", axis, " of ", describe(x),
                             " is empty");
  return appendType(loc, reducedShape(shapeOf(x), axis, op.getKeepdims(), x.getContext()),
                    IntegerType::get(x.getContext(), 64), types);
}

static ScalarFormula formulaOf(Operation *op, OpBuilder &builder, Location loc) {
  return ScalarFormula(builder, loc, signednessOf(op->getOperand(0).getType()));
}

//===----------------------------------------------------------------------===//
// Sum, mean, product, maximum, minimum: one value, lifted as it is
//===----------------------------------------------------------------------===//

#define NNCC_SIMPLE_REDUCTION(OP, NEUTRAL, COMBINE)                                                \
  LogicalResult OP::inferReturnTypes(                                                              \
      MLIRContext *, std::optional<Location> loc, ValueRange operands, DictionaryAttr attributes,  \
      OpaqueProperties properties, RegionRange regions, SmallVectorImpl<Type> &types) {            \
    return inferReduce(loc, Adaptor(operands, attributes, properties, regions), types);            \
  }                                                                                                \
  SmallVector<Value> OP::buildInit(OpBuilder &builder, Location loc, Type element) {               \
    return {formulaOf(*this, builder, loc).constant(element, NEUTRAL)};                            \
  }                                                                                                \
  SmallVector<Value> OP::buildLift(OpBuilder &, Location, Value element, Value) {                  \
    return {element};                                                                              \
  }                                                                                                \
  SmallVector<int64_t> OP::reducedAxes() { return llvm::to_vector(getAxes()); }                    \
  bool OP::needsPosition() { return false; }                                                       \
  SmallVector<Value> OP::buildCombine(OpBuilder &builder, Location loc, ValueRange a,              \
                                      ValueRange b) {                                              \
    return {formulaOf(*this, builder, loc).COMBINE(a[0], b[0])};                                   \
  }

NNCC_SIMPLE_REDUCTION(ReduceSumOp, 0.0, add)
NNCC_SIMPLE_REDUCTION(ReduceMeanOp, 0.0, add)
NNCC_SIMPLE_REDUCTION(ReduceProdOp, 1.0, mul)
NNCC_SIMPLE_REDUCTION(ReduceMaxOp, -kInfinity, max)
NNCC_SIMPLE_REDUCTION(ReduceMinOp, kInfinity, min)
#undef NNCC_SIMPLE_REDUCTION

Value ReduceSumOp::buildFinalize(OpBuilder &, Location, ValueRange partial, Value) {
  return partial[0];
}
Value ReduceProdOp::buildFinalize(OpBuilder &, Location, ValueRange partial, Value) {
  return partial[0];
}
Value ReduceMaxOp::buildFinalize(OpBuilder &, Location, ValueRange partial, Value) {
  return partial[0];
}
Value ReduceMinOp::buildFinalize(OpBuilder &, Location, ValueRange partial, Value) {
  return partial[0];
}
Value ReduceMeanOp::buildFinalize(OpBuilder &builder, Location loc, ValueRange partial,
                                  Value count) {
  return ScalarFormula(builder, loc).div(partial[0], count);
}

//===----------------------------------------------------------------------===//
// Positions of the largest and smallest value: a value and its position
//===----------------------------------------------------------------------===//

/// The type of positions beside elements of type `element`.
static Type positionType(Type element) {
  Type i64 = IntegerType::get(element.getContext(), 64);
  if (auto vector = dyn_cast<VectorType>(element))
    return vector.clone(i64);
  return i64;
}

/// Neutral: a value that nothing loses against, at a position behind all others.
static SmallVector<Value> buildArgInit(ScalarFormula f, Type element, double neutral) {
  return {f.constant(element, neutral),
          f.constant(positionType(element), APInt::getSignedMaxValue(64))};
}

/// `b` replaces `a` when its value is better, or equal (both NaN included) and earlier. A NaN is
/// better than every number.
static SmallVector<Value> buildArgCombine(OpBuilder &builder, Location loc, ScalarFormula f,
                                          ScalarFormula::Relation better, ValueRange a,
                                          ValueRange b) {
  using Relation = ScalarFormula::Relation;
  auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(builder, loc, x, y); };
  auto either = [&](Value x, Value y) -> Value { return arith::OrIOp::create(builder, loc, x, y); };
  Value isBetter = f.compare(better, b[0], a[0]);
  Value isEqual = f.compare(Relation::Equal, b[0], a[0]);
  if (isFloatValue(a[0])) {
    Value aIsNaN = f.compare(Relation::NotEqual, a[0], a[0]);
    Value bIsNaN = f.compare(Relation::NotEqual, b[0], b[0]);
    Value aIsNumber = f.compare(Relation::Equal, a[0], a[0]);
    isBetter = either(isBetter, both(bIsNaN, aIsNumber));
    isEqual = either(isEqual, both(bIsNaN, aIsNaN));
  }
  Value isEarlier = ScalarFormula(builder, loc).less(b[1], a[1]);
  Value takesB = either(isBetter, both(isEqual, isEarlier));
  return {f.select(takesB, b[0], a[0]), f.select(takesB, b[1], a[1])};
}

#define NNCC_ARG_REDUCTION(OP, NEUTRAL, BETTER)                                                    \
  LogicalResult OP::inferReturnTypes(                                                              \
      MLIRContext *, std::optional<Location> loc, ValueRange operands, DictionaryAttr attributes,  \
      OpaqueProperties properties, RegionRange regions, SmallVectorImpl<Type> &types) {            \
    return inferArgReduce(loc, Adaptor(operands, attributes, properties, regions), types);         \
  }                                                                                                \
  SmallVector<Value> OP::buildInit(OpBuilder &builder, Location loc, Type element) {               \
    return buildArgInit(formulaOf(*this, builder, loc), element, NEUTRAL);                         \
  }                                                                                                \
  SmallVector<Value> OP::buildLift(OpBuilder &, Location, Value element, Value position) {         \
    return {element, position};                                                                    \
  }                                                                                                \
  SmallVector<int64_t> OP::reducedAxes() { return {static_cast<int64_t>(getAxis())}; }             \
  bool OP::needsPosition() { return true; }                                                        \
  SmallVector<Value> OP::buildCombine(OpBuilder &builder, Location loc, ValueRange a,              \
                                      ValueRange b) {                                              \
    return buildArgCombine(builder, loc, formulaOf(*this, builder, loc), BETTER, a, b);            \
  }                                                                                                \
  Value OP::buildFinalize(OpBuilder &, Location, ValueRange partial, Value) { return partial[1]; }

NNCC_ARG_REDUCTION(ArgMaxOp, -kInfinity, ScalarFormula::Relation::Greater)
NNCC_ARG_REDUCTION(ArgMinOp, kInfinity, ScalarFormula::Relation::Less)
#undef NNCC_ARG_REDUCTION
