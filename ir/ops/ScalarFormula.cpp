// Scalar formulas from arith and math ops; see ScalarFormula.h.

#include "ir/ops/ScalarFormula.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace nncc::nn;

Signedness nncc::nn::signednessOf(Type tensorType) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(tensorType));
  return integer && (integer.isUnsigned() || integer.getWidth() == 1) ? Signedness::Unsigned
                                                                      : Signedness::Signed;
}

bool nncc::nn::isFloatValue(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// `like` with another element type: a vector stays a vector of the same length.
static Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

static Value constantOfType(OpBuilder &builder, Location loc, Type type, TypedAttr element) {
  TypedAttr attribute = element;
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = SplatElementsAttr::get(vector, element);
  return arith::ConstantOp::create(builder, loc, attribute);
}

/// The integer nearest to `value` in a type of `width` bits.
static APInt saturate(double value, unsigned width, bool isSigned) {
  llvm::APSInt result(width, /*isUnsigned=*/!isSigned);
  bool isExact;
  APFloat(value).convertToInteger(result, APFloat::rmTowardZero, &isExact);
  return result;
}

Value ScalarFormula::constant(Type type, double value) const {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return constantOfType(builder, loc, type, builder.getFloatAttr(element, value));
  return constant(type, saturate(value, element.getIntOrFloatBitWidth(), isSigned));
}

Value ScalarFormula::constant(Type type, const APInt &value) const {
  return constantOfType(builder, loc, type,
                        builder.getIntegerAttr(getElementTypeOrSelf(type), value));
}

Value ScalarFormula::add(Value a, Value b) const {
  if (isFloatValue(a))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

Value ScalarFormula::sub(Value a, Value b) const {
  if (isFloatValue(a))
    return arith::SubFOp::create(builder, loc, a, b);
  return arith::SubIOp::create(builder, loc, a, b);
}

Value ScalarFormula::mul(Value a, Value b) const {
  if (isFloatValue(a))
    return arith::MulFOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

Value ScalarFormula::div(Value a, Value b) const {
  if (isFloatValue(a))
    return arith::DivFOp::create(builder, loc, a, b);
  Value zero = constant(b, 0.0), one = constant(b, 1.0);
  Value isZero = compare(Relation::Equal, b, zero);
  if (!isSigned) {
    Value quotient = arith::DivUIOp::create(builder, loc, a, select(isZero, one, b));
    return select(isZero, zero, quotient);
  }
  // The hardware traps on x / 0 and on INT_MIN / -1: divide by 1 there, then put the defined result
  // in place.
  Value minusOne =
      constant(b, APInt::getAllOnes(getElementTypeOrSelf(b.getType()).getIntOrFloatBitWidth()));
  Value isMinusOne = compare(Relation::Equal, b, minusOne);
  Value isSpecial = arith::OrIOp::create(builder, loc, isZero, isMinusOne);
  Value quotient = arith::DivSIOp::create(builder, loc, a, select(isSpecial, one, b));
  return select(isZero, zero, select(isMinusOne, neg(a), quotient));
}

Value ScalarFormula::neg(Value a) const {
  if (isFloatValue(a))
    return arith::NegFOp::create(builder, loc, a);
  return sub(constant(a, 0.0), a);
}

Value ScalarFormula::abs(Value a) const {
  if (isFloatValue(a))
    return math::AbsFOp::create(builder, loc, a);
  if (!isSigned)
    return a;
  return math::AbsIOp::create(builder, loc, a);
}

Value ScalarFormula::min(Value a, Value b) const {
  if (isFloatValue(a))
    return arith::MinimumFOp::create(builder, loc, a, b);
  if (isSigned)
    return arith::MinSIOp::create(builder, loc, a, b);
  return arith::MinUIOp::create(builder, loc, a, b);
}

Value ScalarFormula::max(Value a, Value b) const {
  if (isFloatValue(a))
    return arith::MaximumFOp::create(builder, loc, a, b);
  if (isSigned)
    return arith::MaxSIOp::create(builder, loc, a, b);
  return arith::MaxUIOp::create(builder, loc, a, b);
}

Value ScalarFormula::compare(Relation relation, Value a, Value b) const {
  struct Predicates {
    arith::CmpFPredicate ordered;
    arith::CmpIPredicate withSign, withoutSign;
  };
  auto predicates = [&]() -> Predicates {
    using F = arith::CmpFPredicate;
    using I = arith::CmpIPredicate;
    switch (relation) {
    case Relation::Equal:
      return {F::OEQ, I::eq, I::eq};
    case Relation::NotEqual:
      return {F::UNE, I::ne, I::ne};
    case Relation::Less:
      return {F::OLT, I::slt, I::ult};
    case Relation::LessEqual:
      return {F::OLE, I::sle, I::ule};
    case Relation::Greater:
      return {F::OGT, I::sgt, I::ugt};
    case Relation::GreaterEqual:
      return {F::OGE, I::sge, I::uge};
    }
    llvm_unreachable("every relation has its predicates");
  }();
  if (isFloatValue(a))
    return arith::CmpFOp::create(builder, loc, predicates.ordered, a, b);
  return arith::CmpIOp::create(builder, loc,
                               isSigned ? predicates.withSign : predicates.withoutSign, a, b);
}

Value ScalarFormula::select(Value condition, Value a, Value b) const {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value ScalarFormula::exp(Value x) const { return math::ExpOp::create(builder, loc, x); }
Value ScalarFormula::tanh(Value x) const { return math::TanhOp::create(builder, loc, x); }
Value ScalarFormula::erf(Value x) const { return math::ErfOp::create(builder, loc, x); }
Value ScalarFormula::expm1(Value x) const { return math::ExpM1Op::create(builder, loc, x); }
Value ScalarFormula::log1p(Value x) const { return math::Log1pOp::create(builder, loc, x); }
Value ScalarFormula::sqrt(Value x) const { return math::SqrtOp::create(builder, loc, x); }

Value ScalarFormula::sigmoid(Value x) const {
  Value one = constant(x, 1.0);
  return div(one, add(one, exp(neg(x))));
}

Value ScalarFormula::softplus(Value x) const {
  return add(max(x, constant(x, 0.0)), log1p(exp(neg(abs(x)))));
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

Value ScalarFormula::castFloatToInteger(Value x, IntegerType element) const {
  bool toSigned = signednessOf(element) == Signedness::Signed;
  unsigned width = element.getWidth();
  Type target = withElement(x.getType(), IntegerType::get(builder.getContext(), width));
  // The conversion itself is defined inside the target's range only, so it sees 0 for everything
  // else. The bounds are powers of two and exact, or infinite where the source type ends below
  // them, which is as right.
  double low = toSigned ? -std::ldexp(1.0, width - 1) : 0.0;
  double high = std::ldexp(1.0, toSigned ? width - 1 : width);
  Value isLow = less(x, constant(x, low));
  Value isHigh = compare(Relation::GreaterEqual, x, constant(x, high));
  Value isInside =
      arith::AndIOp::create(builder, loc, compare(Relation::GreaterEqual, x, constant(x, low)),
                            less(x, constant(x, high)));
  Value inside = select(isInside, x, constant(x, 0.0));
  Value converted = toSigned ? arith::FPToSIOp::create(builder, loc, target, inside).getResult()
                             : arith::FPToUIOp::create(builder, loc, target, inside).getResult();
  Value least =
      constant(converted, toSigned ? APInt::getSignedMinValue(width) : APInt::getZero(width));
  Value greatest =
      constant(converted, toSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width));
  return select(isLow, least, select(isHigh, greatest, converted));
}

Value ScalarFormula::cast(Value x, Type element) const {
  Type source = getElementTypeOrSelf(x.getType());
  unsigned sourceWidth = source.getIntOrFloatBitWidth(), width = element.getIntOrFloatBitWidth();
  if (element.isInteger(1)) {
    if (source.isInteger(1))
      return x;
    return compare(Relation::NotEqual, x, constant(x, 0.0));
  }
  if (auto integer = dyn_cast<IntegerType>(element)) {
    if (isFloatValue(x))
      return castFloatToInteger(x, integer);
    Type target = withElement(x.getType(), IntegerType::get(builder.getContext(), width));
    if (width < sourceWidth)
      return arith::TruncIOp::create(builder, loc, target, x);
    if (width == sourceWidth)
      return x;
    if (isSigned)
      return arith::ExtSIOp::create(builder, loc, target, x);
    return arith::ExtUIOp::create(builder, loc, target, x);
  }
  if (source == element)
    return x;
  // f16 and bf16 convert from and to f32 only: CPUs have instructions for that, and PyTorch does it.
  if (width == 16 && !source.isF32())
    return cast(cast(x, builder.getF32Type()), element);
  Type target = withElement(x.getType(), element);
  if (!isFloatValue(x)) {
    if (isSigned)
      return arith::SIToFPOp::create(builder, loc, target, x);
    return arith::UIToFPOp::create(builder, loc, target, x);
  }
  if (sourceWidth == 16 && !element.isF32())
    return cast(cast(x, builder.getF32Type()), element);
  if (width < sourceWidth)
    return arith::TruncFOp::create(builder, loc, target, x);
  return arith::ExtFOp::create(builder, loc, target, x);
}
