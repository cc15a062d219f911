// The scalar formula of each activation. Constants are PyTorch's.

#include "ir/NN.h"
#include "ir/ops/ScalarFormula.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace nncc::nn;

Value ReluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0], zero = f.constant(x, 0.0);
  // "x < 0 ? 0 : x" keeps NaN, and is one max instruction.
  return f.select(f.less(x, zero), zero, x);
}

OpFoldResult ReluOp::fold(FoldAdaptor) {
  if (getX().getDefiningOp<ReluOp>() && getX().getType() == getType())
    return getX();
  return {};
}

Value LeakyReluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0];
  return f.select(f.less(x, f.constant(x, 0.0)),
                  f.mul(x, f.constant(x, getAlpha().convertToDouble())), x);
}

Value PReluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0], slope = operands[1];
  return f.select(f.less(x, f.constant(x, 0.0)), f.mul(x, slope), x);
}

/// x above zero, scale * (exp(x / divisor) - 1) below. NaN is not below zero and stays.
static Value buildElu(ScalarFormula &f, Value x, double scale, double divisor) {
  Value scaled = divisor == 1.0 ? x : f.div(x, f.constant(x, divisor));
  return f.select(f.less(x, f.constant(x, 0.0)), f.mul(f.expm1(scaled), f.constant(x, scale)), x);
}

Value EluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  return buildElu(f, operands[0], getAlpha().convertToDouble(), 1.0);
}

Value SeluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  constexpr double alpha = 1.6732632423543772848170429916717;
  constexpr double scale = 1.0507009873554804934193349852946;
  ScalarFormula f(builder, loc);
  return f.mul(buildElu(f, operands[0], alpha, 1.0), f.constant(operands[0], scale));
}

Value CeluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  double alpha = getAlpha().convertToDouble();
  return buildElu(f, operands[0], alpha, alpha);
}

LogicalResult CeluOp::verify() {
  if (getAlpha().isZero())
    return emitOpError("celu_c1: alpha must not be zero");
  return success();
}

Value GeluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0], half = f.constant(x, 0.5), one = f.constant(x, 1.0);
  Value inner;
  if (getTanhApproximation()) {
    Value cube = f.mul(f.mul(x, x), x);
    Value sum = f.add(x, f.mul(cube, f.constant(x, 0.044715)));
    inner = f.tanh(f.mul(sum, f.constant(x, std::numbers::sqrt2 * std::numbers::inv_sqrtpi)));
  } else {
    inner = f.erf(f.mul(x, f.constant(x, 1.0 / std::numbers::sqrt2)));
  }
  return f.mul(f.mul(x, half), f.add(inner, one));
}

Value SigmoidOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).sigmoid(operands[0]);
}

Value SiluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0];
  // One division: x / (1 + exp(-x)).
  return f.div(x, f.add(f.constant(x, 1.0), f.exp(f.neg(x))));
}

Value TanhOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarFormula(builder, loc).tanh(operands[0]);
}

Value SoftsignOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0];
  return f.div(x, f.add(f.constant(x, 1.0), f.abs(x)));
}

Value MishOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  return f.mul(operands[0], f.tanh(f.softplus(operands[0])));
}

Value SoftplusOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0];
  double beta = getBeta().convertToDouble();
  if (beta == 1.0)
    return f.softplus(x);
  Value factor = f.constant(x, beta);
  return f.div(f.softplus(f.mul(x, factor)), factor);
}

LogicalResult SoftplusOp::verify() {
  if (getBeta().isZero())
    return emitOpError("softplus_c1: beta must not be zero");
  return success();
}

Value HardSigmoidOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0];
  Value line = f.add(f.mul(x, f.constant(x, getAlpha().convertToDouble())),
                     f.constant(x, getBeta().convertToDouble()));
  return f.min(f.max(line, f.constant(x, 0.0)), f.constant(x, 1.0));
}

Value HardSwishOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc);
  Value x = operands[0];
  Value gate = f.min(f.max(f.add(x, f.constant(x, 3.0)), f.constant(x, 0.0)), f.constant(x, 6.0));
  return f.mul(f.mul(x, gate), f.constant(x, 1.0 / 6.0));
}

Value DropoutOp::buildScalar(OpBuilder &, Location, ValueRange operands) { return operands[0]; }

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  if (getP().isZero() && getX().getType() == getType())
    return getX();
  return {};
}

LogicalResult DropoutOp::verify() {
  double p = getP().convertToDouble();
  if (!(p >= 0.0 && p <= 1.0))
    return emitOpError("dropout_c1: p must lie in 0..1, found ") << p;
  return success();
}

//===----------------------------------------------------------------------===//
// nn.clip
//===----------------------------------------------------------------------===//

Value ClipOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarFormula f(builder, loc, signednessOf(getX().getType()));
  Value x = operands[0];
  if (getMin())
    x = f.max(x, f.constant(x, getMin()->convertToDouble()));
  if (getMax())
    x = f.min(x, f.constant(x, getMax()->convertToDouble()));
  return x;
}

OpFoldResult ClipOp::fold(FoldAdaptor) {
  if (getX().getType() != getType())
    return {};
  if (!getMin() && !getMax())
    return getX();
  // A clip of a result that is clipped at least as tightly changes nothing.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (auto producer = getX().getDefiningOp<ClipOp>()) {
    auto low = [&](ClipOp op) { return op.getMin() ? op.getMin()->convertToDouble() : -infinity; };
    auto high = [&](ClipOp op) { return op.getMax() ? op.getMax()->convertToDouble() : infinity; };
    if (low(producer) >= low(*this) && high(producer) <= high(*this) &&
        low(producer) <= high(producer))
      return getX();
  }
  return {};
}
