// Reverse accumulation over scalar formulas; see ScalarDerivative.h.

#include "ir/ops/ScalarDerivative.h"
#include "ir/ops/ScalarFormula.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numbers>

using namespace mlir;
using namespace nncc::nn;

namespace {

using Relation = ScalarFormula::Relation;

class Accumulation {
public:
  Accumulation(OpBuilder &builder, Location loc) : builder(builder), f(builder, loc) {}

  Value run(Value result, Value input, Value resultGradient);

private:
  void collect(Value value, Value input);
  void propagate(Operation *op, Value g);
  void add(Value to, Value gradient) {
    if (!depends.contains(to))
      return;
    Value &sum = gradients[to];
    sum = sum ? f.add(sum, gradient) : gradient;
  }
  Value zero(Value like) { return f.constant(like, 0.0); }
  Value one(Value like) { return f.constant(like, 1.0); }
  Value unlessZero(Value g, Value product) {
    return f.select(f.compare(Relation::Equal, g, zero(g)), zero(g), product);
  }
  /// `g` where the condition holds, else 0.
  Value when(Value condition, Value g) { return f.select(condition, g, zero(g)); }

  OpBuilder &builder;
  ScalarFormula f;
  llvm::SetVector<Operation *> ops; ///< of the formula, each behind those whose results it reads
  llvm::DenseSet<Value> depends;    ///< values that depend on the input
  llvm::DenseMap<Value, Value> gradients;
};

} // namespace

/// Finds the ops between `input` and `value`.
void Accumulation::collect(Value value, Value input) {
  Operation *op = value.getDefiningOp();
  if (value == input || !op || ops.contains(op) || depends.contains(value))
    return;
  bool isReached = false;
  for (Value operand : op->getOperands()) {
    collect(operand, input);
    isReached |= depends.contains(operand);
  }
  if (!isReached)
    return;
  depends.insert(value);
  ops.insert(op);
}

Value Accumulation::run(Value result, Value input, Value resultGradient) {
  depends.insert(input);
  collect(result, input);
  if (!depends.contains(result))
    return zero(resultGradient);
  gradients[result] = resultGradient;
  for (Operation *op : llvm::reverse(ops))
    if (Value gradient = gradients.lookup(op->getResult(0)))
      propagate(op, gradient);
  Value gradient = gradients.lookup(input);
  return gradient ? gradient : zero(resultGradient);
}

/// The condition of a select for its gradient: the end of an open range belongs to it, as in PyTorch.
static Value closedCondition(OpBuilder &builder, Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OLT || !matchPattern(compare.getRhs(), m_Constant()))
    return condition;
  return arith::CmpFOp::create(builder, compare.getLoc(), arith::CmpFPredicate::OLE, compare.getLhs(), compare.getRhs());
}

/// Adds what the gradient `g` of op's result gives to the gradients of its operands.
void Accumulation::propagate(Operation *op, Value g) {
  Value a = op->getOperand(0), r = op->getResult(0);
  Value b = op->getNumOperands() > 1 ? op->getOperand(1) : Value();
  Location loc = op->getLoc();
  // The share of `x` where x and y compete and `wins` says which of them is the result.
  auto share = [&](Relation wins, Value x, Value y) {
    Value half = f.mul(g, f.constant(g, 0.5));
    return f.select(f.compare(wins, x, y), g, when(f.compare(Relation::Equal, x, y), half));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<arith::AddFOp>([&](auto) {
        add(a, g);
        add(b, g);
      })
      .Case<arith::SubFOp>([&](auto) {
        add(a, g);
        if (depends.contains(b))
          add(b, f.neg(g));
      })
      .Case<arith::MulFOp>([&](auto) {
        if (depends.contains(a))
          add(a, f.mul(g, b));
        if (depends.contains(b))
          add(b, f.mul(g, a));
      })
      .Case<arith::DivFOp>([&](auto) {
        Value quotient = f.div(g, b);
        add(a, quotient);
        if (depends.contains(b))
          add(b, f.neg(f.mul(quotient, r)));
      })
      .Case<arith::NegFOp>([&](auto) { add(a, f.neg(g)); })
      .Case<arith::RemFOp>([&](auto) {
        add(a, g);
        if (!depends.contains(b))
          return;
        // a - trunc(a / b) * b: the whole number between them is exact but for the rounding of the difference.
        Value whole = math::RoundEvenOp::create(builder, loc, f.div(f.sub(a, r), b));
        add(b, f.neg(f.mul(g, whole)));
      })
      .Case<arith::MaximumFOp>([&](auto) {
        add(a, share(Relation::Greater, a, b));
        add(b, share(Relation::Greater, b, a));
      })
      .Case<arith::MinimumFOp>([&](auto) {
        add(a, share(Relation::Less, a, b));
        add(b, share(Relation::Less, b, a));
      })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        Value condition = closedCondition(builder, select.getCondition());
        Value onTrue = select.getTrueValue(), onFalse = select.getFalseValue();
        if (depends.contains(onTrue))
          add(onTrue, when(condition, g));
        if (depends.contains(onFalse))
          add(onFalse, f.select(condition, zero(g), g));
      })
      .Case<math::FmaOp>([&](math::FmaOp fma) {
        if (depends.contains(a))
          add(a, f.mul(g, b));
        if (depends.contains(b))
          add(b, f.mul(g, a));
        add(fma.getC(), g);
      })
      .Case<math::AbsFOp>([&](auto) {
        Value below = when(f.less(a, zero(a)), f.neg(g));
        add(a, f.select(f.compare(Relation::Greater, a, zero(a)), g, below));
      })
      .Case<math::SqrtOp>([&](auto) { add(a, f.div(g, f.add(r, r))); })
      .Case<math::RsqrtOp>([&](auto) {
        Value cube = f.mul(r, f.mul(r, r));
        add(a, f.mul(g, f.mul(cube, f.constant(g, -0.5))));
      })
      // An arm that was not chosen has the gradient 0, and its power may be infinite.
      .Case<math::ExpOp>([&](auto) { add(a, unlessZero(g, f.mul(g, r))); })
      .Case<math::ExpM1Op>([&](auto) { add(a, unlessZero(g, f.mul(g, f.add(r, one(r))))); })
      .Case<math::LogOp>([&](auto) { add(a, f.div(g, a)); })
      .Case<math::Log1pOp>([&](auto) { add(a, f.div(g, f.add(a, one(a)))); })
      .Case<math::TanhOp>([&](auto) { add(a, f.mul(g, f.sub(one(r), f.mul(r, r)))); })
      .Case<math::ErfOp>([&](auto) {
        Value bell = f.exp(f.neg(f.mul(a, a)));
        add(a, f.mul(g, f.mul(bell, f.constant(g, 2 * std::numbers::inv_sqrtpi))));
      })
      .Case<math::SinOp>([&](auto) { add(a, f.mul(g, math::CosOp::create(builder, loc, a))); })
      .Case<math::CosOp>([&](auto) { add(a, f.neg(f.mul(g, math::SinOp::create(builder, loc, a)))); })
      .Case<math::TanOp>([&](auto) { add(a, f.mul(g, f.add(one(r), f.mul(r, r)))); })
      .Case<math::PowFOp>([&](auto) {
        if (depends.contains(a)) {
          // x^0 is flat, at 0 too, where x^-1 is infinite.
          Value lower = math::PowFOp::create(builder, loc, a, f.sub(b, one(b)));
          Value isFlat = f.compare(Relation::Equal, b, zero(b));
          add(a, f.select(isFlat, zero(g), f.mul(g, f.mul(b, lower))));
        }
        if (depends.contains(b)) {
          // 0^y is flat for y >= 0, where log(0) is infinite.
          Value isZero = f.compare(Relation::Equal, a, zero(a));
          Value isFlat = arith::AndIOp::create(builder, loc, isZero, f.compare(Relation::GreaterEqual, b, zero(b)));
          Value log = math::LogOp::create(builder, loc, a);
          add(b, f.select(isFlat, zero(g), f.mul(g, f.mul(r, log))));
        }
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { add(a, f.cast(g, getElementTypeOrSelf(a.getType()))); })
      // Steps are flat; comparisons and integers carry no gradient.
      .Default([](Operation *) {});
}

/// Derivatives that are better not made from the formula; null for all others.
static Value buildOwnDerivative(ScalarFormula &f, Operation *op, ValueRange operands, Value g) {
  Value x = operands[0];
  if (auto clip = dyn_cast<ClipOp>(op)) {
    // min(max(x, low), high) would halve the gradient at its ends.
    if (clip.getMin())
      g = f.select(f.less(x, f.constant(x, clip.getMin()->convertToDouble())), f.constant(x, 0.0), g);
    if (clip.getMax())
      g = f.select(f.compare(Relation::Greater, x, f.constant(x, clip.getMax()->convertToDouble())),
                   f.constant(x, 0.0), g);
    return g;
  }
  // The power of a quotient's divisor overflows long before the quotient is flat.
  if (isa<SigmoidOp>(op)) {
    Value y = f.sigmoid(x);
    return f.mul(g, f.mul(y, f.sub(f.constant(y, 1.0), y)));
  }
  if (isa<SiluOp>(op)) {
    Value s = f.sigmoid(x), one = f.constant(s, 1.0);
    return f.mul(g, f.mul(s, f.add(one, f.mul(x, f.sub(one, s)))));
  }
  return {};
}

Value nncc::nn::buildDerivative(OpBuilder &builder, Location loc, ElementwiseOpInterface op, ValueRange operands,
                                unsigned wrt, Value resultGradient) {
  ScalarFormula f(builder, loc);
  if (Value own = buildOwnDerivative(f, op, operands, resultGradient))
    return own;
  // Operands may be one value; the formula is differentiated by one of them.
  Value input = UnrealizedConversionCastOp::create(builder, loc, operands[wrt].getType(), operands[wrt]).getResult(0);
  SmallVector<Value> inputs(operands);
  inputs[wrt] = input;
  Value result = op.buildScalar(builder, loc, inputs);
  Value gradient = Accumulation(builder, loc).run(result, input, resultGradient);
  Operation *stand = input.getDefiningOp();
  input.replaceAllUsesWith(operands[wrt]);
  if (gradient == input)
    gradient = operands[wrt];
  stand->erase();
  return gradient;
}
