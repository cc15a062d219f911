// Transcendental functions as arithmetic; see ExpandMath.h.
//
// Every function works on single precision and is within a few units in the last place of the true value (the tests say how
// many), except that results of exp below 2^-125 become 0. The coefficients are minimax fits in relative error, made with Lawson's
// iteration and rounded to float one after the other, the rest fitted again each time. The reductions are those of Cody and
// Waite, "Software Manual for the Elementary Functions", 1980.

#include "codegen/cpu/ExpandMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <limits>

using namespace mlir;
using namespace nncc;

namespace {

constexpr double kInfinity = std::numeric_limits<float>::infinity();
/// 1.5 * 2^23: added to a small number it leaves the nearest integer in the low bits of the sum.
constexpr double kRounder = 12582912;
constexpr double kLog2e = 1.44269504088896341;
/// ln 2 in two parts; the first has few bits, so its products with integers up to 2^15 are exact.
constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440054690582768e-4;

/// Writes single-precision arithmetic on a scalar or a vector.
class FloatBuilder : public ImplicitLocOpBuilder {
public:
  FloatBuilder(Location loc, OpBuilder &builder, Type type)
      : ImplicitLocOpBuilder(loc, builder), type(type), intType(withElement(getI32Type())) {}

  Type type;    ///< f32 or a vector of it
  Type intType; ///< i32 in the same shape

  Value number(double value) { return constant(getF32FloatAttr(value)); }
  Value integer(int32_t value) { return constant(getI32IntegerAttr(value)); }

  Value add(Value x, Value y) { return arith::AddFOp::create(*this, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(*this, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(*this, x, y); }
  /// x * y + z, in one rounding where the target can; the formulas here do not rely on it.
  Value multiplyAdd(Value x, Value y, Value z) { return LLVM::FMulAddOp::create(*this, x, y, z); }

  Value bits(Value x) { return arith::BitcastOp::create(*this, intType, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(*this, type, x); }
  Value toFloat(Value x) { return arith::SIToFPOp::create(*this, type, x); }

  Value is(arith::CmpFPredicate relation, Value x, Value y) { return arith::CmpFOp::create(*this, relation, x, y); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(*this, condition, x, y); }
  /// x within [low, high]; NaN stays NaN. Comparison and choice are one instruction on x86.
  Value clamp(Value x, double low, double high) {
    Value least = number(low), greatest = number(high);
    x = select(is(arith::CmpFPredicate::OGT, least, x), least, x);
    return select(is(arith::CmpFPredicate::OLT, greatest, x), greatest, x);
  }

  /// c[0] + c[1] x + c[2] x^2 + ...
  Value polynomial(Value x, ArrayRef<double> c) {
    Value sum = number(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = multiplyAdd(sum, x, number(coefficient));
    return sum;
  }

  Type withElement(Type element) const {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }

private:
  Value constant(TypedAttr element) {
    if (auto vector = dyn_cast<VectorType>(withElement(element.getType())))
      return arith::ConstantOp::create(*this, SplatElementsAttr::get(vector, element));
    return arith::ConstantOp::create(*this, element);
  }
};

//===----------------------------------------------------------------------===//
// exp, expm1: x = n ln 2 + r with |r| <= ln 2 / 2
//===----------------------------------------------------------------------===//

struct ExpParts {
  Value r;
  Value halfPower; ///< 2^(n - 1): representable for every n that matters, 2^n is not. 0 for the least n.
};

ExpParts reduceExp(FloatBuilder &b, Value x) {
  // Beyond these bounds the result is 0 or infinite.
  x = b.clamp(x, -87.6, 88.8);
  // The low bits of the sum are n - 1 plus the bias of an exponent; shifted, they are a float.
  constexpr int32_t kBiasLessOne = 126;
  Value rounder = b.number(kRounder + kBiasLessOne);
  Value sum = b.multiplyAdd(x, b.number(kLog2e), rounder);
  Value n = b.sub(sum, rounder);
  Value r = b.multiplyAdd(n, b.number(-kLn2High), x);
  r = b.multiplyAdd(n, b.number(-kLn2Low), r);
  return {r, b.fromBits(arith::ShLIOp::create(b, b.bits(sum), b.integer(23)))};
}

Value exp(FloatBuilder &b, Value x) {
  auto [r, halfPower] = reduceExp(b, x);
  // 2 e^r, for the other half of the power.
  Value twice = b.polynomial(r, {2.0, 2.0, 2 * 0.49999994, 2 * 0.166665211, 2 * 0.0416682661, 2 * 0.00836867746,
                                 2 * 0.0013820735});
  return b.mul(twice, halfPower);
}

Value expm1(FloatBuilder &b, Value x) {
  auto [r, halfPower] = reduceExp(b, x);
  Value tail = b.polynomial(r, {0.49999997, 0.166665465, 0.0416674353, 0.00836626161, 0.00138706574});
  Value ofRest = b.multiplyAdd(b.mul(r, r), tail, r); // e^r - 1
  Value half = b.multiplyAdd(ofRest, halfPower, b.sub(halfPower, b.number(0.5)));
  return b.add(half, half);
}

//===----------------------------------------------------------------------===//
// log, log1p: x = 2^e m with sqrt(1/2) <= m < sqrt(2)
//===----------------------------------------------------------------------===//

Value log(FloatBuilder &b, Value x) {
  constexpr int32_t kSqrtHalf = 0x3f3504f3, kMantissa = 0x7fffff;
  Value zero = b.number(0);
  // Subnormal numbers are made normal first.
  Value isSmall = b.is(arith::CmpFPredicate::OLT, x, b.number(std::numeric_limits<float>::min()));
  Value normal = b.select(isSmall, b.mul(x, b.number(0x1p23)), x);
  Value place = arith::SubIOp::create(b, b.bits(normal), b.integer(kSqrtHalf));
  Value exponent = b.toFloat(arith::ShRSIOp::create(b, place, b.integer(23)));
  exponent = b.add(exponent, b.select(isSmall, b.number(-23), zero));
  Value mantissa = arith::AndIOp::create(b, place, b.integer(kMantissa));
  Value f = b.sub(b.fromBits(arith::AddIOp::create(b, mantissa, b.integer(kSqrtHalf))), b.number(1));
  // log(1 + f) = f + f^2 (f p(f) - 1/2)
  Value p = b.polynomial(f, {0.333333313, -0.250008196, 0.200012416, -0.166234091, 0.142015815, -0.131596133,
                             0.127622008, -0.0763640329});
  Value rest = b.mul(b.mul(f, f), b.multiplyAdd(f, p, b.number(-0.5)));
  Value result = b.add(b.multiplyAdd(exponent, b.number(kLn2Low), rest), f);
  result = b.multiplyAdd(exponent, b.number(kLn2High), result);
  // An infinity and a NaN are their own logarithms.
  result = b.select(b.is(arith::CmpFPredicate::OLT, x, b.number(kInfinity)), result, x);
  result = b.select(b.is(arith::CmpFPredicate::OEQ, x, zero), b.number(-kInfinity), result);
  return b.select(b.is(arith::CmpFPredicate::OLT, x, zero), b.number(std::numeric_limits<float>::quiet_NaN()), result);
}

/// log(1 + x) from the rounded u = 1 + x: the error of u is made good by the factor x / (u - 1). (Kahan; HP-15C manual, 1982)
Value log1p(FloatBuilder &b, Value x) {
  Value one = b.number(1), u = b.add(one, x), difference = b.sub(u, one);
  Value result = b.mul(log(b, u), b.div(x, difference));
  result = b.select(b.is(arith::CmpFPredicate::OEQ, u, b.number(kInfinity)), u, result);
  return b.select(b.is(arith::CmpFPredicate::OEQ, difference, b.number(0)), x, result);
}

//===----------------------------------------------------------------------===//
// tanh, erf: odd functions x P(x^2) / Q(x^2) up to where they round to 1
//===----------------------------------------------------------------------===//

Value oddRational(FloatBuilder &b, Value x, double end, ArrayRef<double> above, ArrayRef<double> below) {
  x = b.clamp(x, -end, end);
  Value square = b.mul(x, x);
  Value numerator = b.mul(x, b.polynomial(square, above));
  // The rounding of the quotient must not carry it past 1.
  return b.clamp(b.div(numerator, b.polynomial(square, below)), -1, 1);
}

Value tanh(FloatBuilder &b, Value x) {
  return oddRational(b, x, 9.02, {1, 0.133797169, 0.00349403382, 2.05834713e-05, 1.33190605e-08},
                     {1, 0.467130333, 0.0258710701, 0.000328309165, 7.76201432e-07});
}

Value erf(FloatBuilder &b, Value x) {
  return oddRational(b, x, 3.93,
                     {1.12837911, 0.190784067, 0.0527903177, 0.00377961923, 0.000284808862, 2.04196931e-06},
                     {1, 0.50241071, 0.114257619, 0.0149974572, 0.00116521516, 3.80040728e-05});
}

//===----------------------------------------------------------------------===//
// sin, cos, tan: x = j pi/2 + r with |r| <= pi/4
//===----------------------------------------------------------------------===//

/// Up to here j has 13 bits and its products with the leading parts of pi/2 are exact.
constexpr double kLargestAngle = 8192;

struct SinCos {
  Value sine, cosine;
};

SinCos sinCos(FloatBuilder &b, Value x) {
  Value rounder = b.number(kRounder);
  Value sum = b.multiplyAdd(x, b.number(0.636619772367581343), rounder);
  Value j = b.sub(sum, rounder), r = x;
  for (double part : {1.5703125, 4.837512969970703e-4, 7.549533620476723e-08, 2.5633440682570896e-12})
    r = b.multiplyAdd(j, b.number(-part), r);
  Value square = b.mul(r, r);
  Value sine = b.polynomial(square, {-0.166666552, 0.00833218731, -0.000195179004});
  sine = b.multiplyAdd(b.mul(square, r), sine, r);
  Value cosine = b.polynomial(square, {1.0, -0.5, 0.0416666456, -0.00138873095, 2.44323273e-05});

  // Quarter turns: each swaps sine and cosine, half turns change the sign.
  Value quarter = b.bits(sum);
  auto bit = [&](Value number, int32_t mask) -> Value {
    Value masked = arith::AndIOp::create(b, number, b.integer(mask));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, b.integer(0));
  };
  auto negateIf = [&](Value condition, Value value) {
    return b.select(condition, arith::NegFOp::create(b, value), value);
  };
  Value isOdd = bit(quarter, 1);
  Value nextQuarter = arith::AddIOp::create(b, quarter, b.integer(1));
  return {negateIf(bit(quarter, 2), b.select(isOdd, cosine, sine)),
          negateIf(bit(nextQuarter, 2), b.select(isOdd, sine, cosine))};
}

/// A function of the module that calls libm for every lane. It keeps this rare way out of the loops.
func::FuncOp laneByLane(FloatBuilder &b, StringRef libmName) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto vector = dyn_cast<VectorType>(b.type);
  OpBuilder::InsertionGuard guard(b);
  auto declare = [&](StringRef name, Type type) {
    if (auto function = module.lookupSymbol<func::FuncOp>(name))
      return function;
    b.setInsertionPointToStart(module.getBody());
    auto function = func::FuncOp::create(b, name, b.getFunctionType({type}, {type}));
    function.setPrivate();
    return function;
  };
  func::FuncOp scalar = declare(libmName, b.getF32Type());
  if (!vector)
    return scalar;
  func::FuncOp function = declare((libmName + "_x" + Twine(vector.getNumElements())).str(), vector);
  if (!function.isDeclaration())
    return function;
  function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
  b.setInsertionPointToStart(function.addEntryBlock());
  Value result = function.getArgument(0);
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
    Value x = vector::ExtractOp::create(b, function.getArgument(0), lane);
    Value y = func::CallOp::create(b, scalar, x).getResult(0);
    result = vector::InsertOp::create(b, y, result, lane);
  }
  func::ReturnOp::create(b, result);
  return function;
}

/// `formula` where every lane's angle is in its range, libm otherwise.
Value ofAngle(FloatBuilder &b, Value x, StringRef libmName, function_ref<Value(SinCos)> formula) {
  Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, math::AbsFOp::create(b, x),
                                        b.number(kLargestAngle));
  if (auto vector = dyn_cast<VectorType>(isLarge.getType()))
    isLarge = vector::ReductionOp::create(b, vector::CombiningKind::OR, isLarge);
  auto choice = scf::IfOp::create(b, b.type, isLarge, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Value exact = func::CallOp::create(b, laneByLane(b, libmName), x).getResult(0);
  scf::YieldOp::create(b, exact);
  b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(b, formula(sinCos(b, x)));
  return choice.getResult(0);
}

Value sin(FloatBuilder &b, Value x) {
  return ofAngle(b, x, "sinf", [](SinCos of) { return of.sine; });
}
Value cos(FloatBuilder &b, Value x) {
  return ofAngle(b, x, "cosf", [](SinCos of) { return of.cosine; });
}
Value tan(FloatBuilder &b, Value x) {
  return ofAngle(b, x, "tanf", [&](SinCos of) { return b.div(of.sine, of.cosine); });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

using Formula = Value (*)(FloatBuilder &, Value);

template <typename Op, Formula formula> struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    Type element = getElementTypeOrSelf(x.getType());
    if (!element.isF32() && !element.isF16() && !element.isBF16())
      return failure();
    Type wide = rewriter.getF32Type();
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      wide = vector.clone(wide);
    if (!element.isF32())
      x = arith::ExtFOp::create(rewriter, op.getLoc(), wide, x);
    FloatBuilder builder(op.getLoc(), rewriter, wide);
    Value result = formula(builder, x);
    if (!element.isF32())
      result = arith::TruncFOp::create(rewriter, op.getLoc(), op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ExpandMath : PassWrapper<ExpandMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMath)
  StringRef getArgument() const override { return "expand-math"; }
  StringRef getDescription() const override { return "transcendental functions become arithmetic that vectorises"; }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Expand<math::ExpOp, exp>, Expand<math::ExpM1Op, expm1>, Expand<math::LogOp, log>,
                 Expand<math::Log1pOp, log1p>, Expand<math::TanhOp, tanh>, Expand<math::ErfOp, erf>,
                 Expand<math::SinOp, sin>, Expand<math::CosOp, cos>, Expand<math::TanOp, tan>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> nncc::codegen::createExpandMathPass() { return std::make_unique<ExpandMath>(); }
