// Elementwise ops: the scalar formula of each op, and the simplifications that follow from it.
// Folding of constants is common to all of them and stands in ir/ConstantFolding.cpp.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"
#include "ir/ops/ScalarFormula.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

using Relation = ScalarFormula::Relation;

/// The formula of an op whose integer operands all have the first operand's signedness.
static ScalarFormula formulaOf(Operation *op, OpBuilder &builder, Location loc) {
  return ScalarFormula(builder, loc, signednessOf(op->getOperand(0).getType()));
}

/// True for a constant operand whose elements all equal `value`.
static bool isSplatOf(Attribute operand, double value) {
  auto elements = dyn_cast_if_present<SplatElementsAttr>(operand);
  if (!elements)
    return false;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble() == value;
  bool isUnsigned = signednessOf(elements.getType()) == Signedness::Unsigned;
  APInt integer = elements.getSplatValue<APInt>();
  return (isUnsigned ? integer.roundToDouble() : integer.signedRoundToDouble()) == value;
}

/// `lhs` when the other operand is a constant `neutral` that does not widen the result by
/// broadcasting.
template <typename Op> static OpFoldResult foldNeutral(Op op, Attribute rhs, double neutral) {
  if (isSplatOf(rhs, neutral) && op.getLhs().getType() == op.getType())
    return op.getLhs();
  return {};
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value AddOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).add(operands[0], operands[1]);
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  // -0 + 0 is +0; the sign of a zero is not kept.
  return foldNeutral(*this, adaptor.getRhs(), 0.0);
}

Value SubOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).sub(operands[0], operands[1]);
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) { return foldNeutral(*this, adaptor.getRhs(), 0.0); }

Value MulOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).mul(operands[0], operands[1]);
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) { return foldNeutral(*this, adaptor.getRhs(), 1.0); }

Value DivOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).div(operands[0], operands[1]);
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) { return foldNeutral(*this, adaptor.getRhs(), 1.0); }

Value ModOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f = formulaOf(*this, builder, loc);
  Value a = operands[0], b = operands[1], zero = f.constant(b, 0.0);
  Value remainder;
  if (isFloatValue(a)) {
    remainder = arith::RemFOp::create(builder, loc, a, b);
  } else {
    // a - trunc(a / b) * b; f.div does not trap, and gives 0 for b = 0, where the remainder is to
    // be 0.
    remainder =
        f.select(f.compare(Relation::Equal, b, zero), zero, f.sub(a, f.mul(f.div(a, b), b)));
  }
  bool isUnsigned = signednessOf(getLhs().getType()) == Signedness::Unsigned;
  if (getTruncate() || isUnsigned)
    return remainder;
  // The truncated remainder has lhs' sign; where that is not rhs' sign, one more step gives the
  // floored one.
  Value signsDiffer = arith::XOrIOp::create(builder, loc, f.less(remainder, zero), f.less(b, zero));
  Value isInexact = f.compare(Relation::NotEqual, remainder, zero);
  Value needsStep = arith::AndIOp::create(builder, loc, signsDiffer, isInexact);
  return f.select(needsStep, f.add(remainder, b), remainder);
}

Value PowOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::PowFOp::create(builder, loc, operands[0], operands[1]);
}

namespace {

/// Powers that are cheaper as another op: x^1, x^2, x^0.5, x^-0.5, x^-1.
struct SimplifyPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    Attribute exponent;
    if (op.getLhs().getType() != op.getType() || !matchPattern(op.getRhs(), m_Constant(&exponent)))
      return failure();
    Value x = op.getLhs();
    if (isSplatOf(exponent, 1.0))
      rewriter.replaceOp(op, x);
    else if (isSplatOf(exponent, 2.0))
      rewriter.replaceOpWithNewOp<SquareOp>(op, op.getType(), x);
    else if (isSplatOf(exponent, 0.5))
      rewriter.replaceOpWithNewOp<SqrtOp>(op, op.getType(), x);
    else if (isSplatOf(exponent, -0.5))
      rewriter.replaceOpWithNewOp<RsqrtOp>(op, op.getType(), x);
    else if (isSplatOf(exponent, -1.0))
      rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getType(), x);
    else
      return failure();
    return success();
  }
};

} // namespace

void PowOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifyPower>(context);
}

Value MinOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).min(operands[0], operands[1]);
}

Value MaxOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).max(operands[0], operands[1]);
}

/// min(x, x) and max(x, x).
template <typename Op> static OpFoldResult foldEqualOperands(Op op) {
  if (op.getLhs() == op.getRhs() && op.getLhs().getType() == op.getType())
    return op.getLhs();
  return {};
}

OpFoldResult MinOp::fold(FoldAdaptor) { return foldEqualOperands(*this); }
OpFoldResult MaxOp::fold(FoldAdaptor) { return foldEqualOperands(*this); }

//===----------------------------------------------------------------------===//
// Functions of one argument
//===----------------------------------------------------------------------===//

/// f(f(x)) = x.
template <typename Op> static OpFoldResult foldInvolution(Op op) {
  if (auto producer = op.getX().template getDefiningOp<Op>())
    if (producer.getX().getType() == op.getType())
      return producer.getX();
  return {};
}

/// f(f(x)) = f(x).
template <typename Op> static OpFoldResult foldIdempotent(Op op) {
  if (op.getX().template getDefiningOp<Op>() && op.getX().getType() == op.getType())
    return op.getX();
  return {};
}

Value NegOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).neg(operands[0]);
}
OpFoldResult NegOp::fold(FoldAdaptor) { return foldInvolution(*this); }

Value AbsOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).abs(operands[0]);
}
OpFoldResult AbsOp::fold(FoldAdaptor) { return foldIdempotent(*this); }

Value SignOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f = formulaOf(*this, builder, loc);
  Value x = operands[0], zero = f.constant(x, 0.0), one = f.constant(x, 1.0);
  Value isPositive = f.compare(Relation::Greater, x, zero);
  if (!isFloatValue(x) && signednessOf(getX().getType()) == Signedness::Unsigned)
    return f.select(isPositive, one, zero);
  return f.select(isPositive, one, f.select(f.less(x, zero), f.neg(one), zero));
}
OpFoldResult SignOp::fold(FoldAdaptor) { return foldIdempotent(*this); }

Value SquareOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).mul(operands[0], operands[0]);
}

Value SqrtOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).sqrt(operands[0]);
}

Value RsqrtOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  return f.div(f.constant(operands[0], 1.0), f.sqrt(operands[0]));
}

Value ReciprocalOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  return f.div(f.constant(operands[0], 1.0), operands[0]);
}

Value ExpOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).exp(operands[0]);
}

Value Expm1Op::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).expm1(operands[0]);
}

Value LogOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::LogOp::create(builder, loc, operands[0]);
}

Value Log1pOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).log1p(operands[0]);
}

Value FloorOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::FloorOp::create(builder, loc, operands[0]);
}
OpFoldResult FloorOp::fold(FoldAdaptor) { return foldIdempotent(*this); }

Value CeilOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::CeilOp::create(builder, loc, operands[0]);
}
OpFoldResult CeilOp::fold(FoldAdaptor) { return foldIdempotent(*this); }

Value RoundOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::RoundEvenOp::create(builder, loc, operands[0]);
}
OpFoldResult RoundOp::fold(FoldAdaptor) { return foldIdempotent(*this); }

Value SinOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::SinOp::create(builder, loc, operands[0]);
}

Value CosOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::CosOp::create(builder, loc, operands[0]);
}

Value TanOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::TanOp::create(builder, loc, operands[0]);
}

Value ErfOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).erf(operands[0]);
}

//===----------------------------------------------------------------------===//
// Comparison, logic and selection
//===----------------------------------------------------------------------===//

Value EqualOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).compare(Relation::Equal, operands[0], operands[1]);
}

Value NotEqualOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).compare(Relation::NotEqual, operands[0], operands[1]);
}

Value LessOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).compare(Relation::Less, operands[0], operands[1]);
}

Value LessEqualOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).compare(Relation::LessEqual, operands[0], operands[1]);
}

Value GreaterOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).compare(Relation::Greater, operands[0], operands[1]);
}

Value GreaterEqualOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).compare(Relation::GreaterEqual, operands[0], operands[1]);
}

Value AndOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::AndIOp::create(builder, loc, operands[0], operands[1]);
}

Value OrOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::OrIOp::create(builder, loc, operands[0], operands[1]);
}

Value XorOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::XOrIOp::create(builder, loc, operands[0], operands[1]);
}

Value NotOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Value x = operands[0];
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  Value ones = ScalarFormula(builder, loc).constant(x, APInt::getAllOnes(width));
  return arith::XOrIOp::create(builder, loc, x, ones);
}
OpFoldResult NotOp::fold(FoldAdaptor) { return foldInvolution(*this); }

LogicalResult WhereOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                        ValueRange operands, DictionaryAttr, OpaqueProperties,
                                        RegionRange, SmallVectorImpl<Type> &types) {
  auto onTrue = cast<RankedTensorType>(operands[1].getType());
  auto onFalse = cast<RankedTensorType>(operands[2].getType());
  if (onTrue.getElementType() != onFalse.getElementType())
    return emitOptionalError(
        loc, "where_c1: on_true and on_false must have one element type, found ", describe(onTrue),
        " and ", describe(onFalse), "; convert one with a cast");
  FailureOr<Shape> values = broadcastShapes(shapeOf(onTrue), shapeOf(onFalse));
  FailureOr<Shape> shape = failure();
  if (succeeded(values))
    shape = broadcastShapes(shapeOf(operands[0].getType()), *values);
  if (failed(shape))
    return emitOptionalError(loc, "where_c2: shapes of ", describe(operands[0].getType()), ", ",
                             describe(onTrue), " and ", describe(onFalse), " do not broadcast");
  return appendType(loc, *shape, onTrue.getElementType(), types);
}

Value WhereOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).select(operands[0], operands[1], operands[2]);
}

OpFoldResult WhereOp::fold(FoldAdaptor adaptor) {
  Value chosen;
  if (isSplatOf(adaptor.getCondition(), 1.0) || getOnTrue() == getOnFalse())
    chosen = getOnTrue();
  else if (isSplatOf(adaptor.getCondition(), 0.0))
    chosen = getOnFalse();
  return chosen && chosen.getType() == getType() ? OpFoldResult(chosen) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// nn.cast
//===----------------------------------------------------------------------===//

LogicalResult CastOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                       ValueRange operands, DictionaryAttr attributes,
                                       OpaqueProperties properties, RegionRange regions,
                                       SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  if (!dtypeOf(op.getTo()))
    return emitOptionalError(loc, "cast_c1: nncc does not compute with ", op.getTo());
  return appendType(loc, shapeOf(op.getX().getType()), op.getTo(), types);
}

Value CastOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return formulaOf(*this, builder, loc).cast(operands[0], getTo());
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  return {};
}
