// The scale as nn ops; see LossScale.h.

#include "passes/LossScale.h"

#include "ir/TensorBuilder.h"

#include <limits>

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;

namespace {

Value constant(TensorBuilder &b, double value) {
  auto type = RankedTensorType::get({}, b.getF32Type());
  return nn::ConstantOp::create(b, DenseElementsAttr::get(type, b.getF32FloatAttr(static_cast<float>(value))));
}
Value constant(TensorBuilder &b, int64_t value) {
  auto type = RankedTensorType::get({}, b.getI64Type());
  return nn::ConstantOp::create(b, DenseElementsAttr::get(type, APInt(64, value, /*isSigned=*/true)));
}
Value choose(TensorBuilder &b, Value condition, Value a, Value c) { return b.create<nn::WhereOp>(condition, a, c); }
Value cast(TensorBuilder &b, Value x, Type element) {
  return b.typeOf(x).getElementType() == element ? x : b.create<nn::CastOp>(x, TypeAttr::get(element));
}

} // namespace

std::optional<LossScale> LossScale::of(DictionaryAttr settings) {
  auto precision = settings.getAs<TypeAttr>("precision");
  if (!precision || !precision.getValue().isF16())
    return std::nullopt;
  LossScale scale;
  Attribute setting = settings.get("loss_scale");
  if (auto number = dyn_cast_if_present<FloatAttr>(setting)) {
    scale.isDynamic = false;
    scale.init = number.getValueAsDouble();
  } else if (auto dynamic = dyn_cast_if_present<DictionaryAttr>(setting)) {
    auto numberIn = [&](StringRef name) { return dynamic.getAs<FloatAttr>(name).getValueAsDouble(); };
    scale.init = numberIn("init");
    scale.growth = numberIn("growth");
    scale.backoff = numberIn("backoff");
    scale.interval = dynamic.getAs<IntegerAttr>("interval").getInt();
  }
  return scale;
}

Value LossScale::read(OpBuilder &builder, Location loc, TrainState &state) const {
  TensorBuilder b(builder, loc);
  return isDynamic ? state.readNumber(kLossScaleState, b.getF32Type(), init) : constant(b, init);
}

Value LossScale::seed(OpBuilder &builder, Location loc, TrainState &state, RankedTensorType lossType) const {
  TensorBuilder b(builder, loc);
  return b.reshape(cast(b, read(builder, loc, state), lossType.getElementType()), lossType);
}

Value LossScale::areFinite(OpBuilder &builder, Location loc, ArrayRef<Value> gradients) const {
  TensorBuilder b(builder, loc);
  Value all;
  for (Value gradient : gradients) {
    // The largest magnitude is NaN where any number is.
    Value largest = b.create<nn::ReduceMaxOp>(b.create<nn::AbsOp>(gradient), ArrayRef<int64_t>{0}, /*keepdims=*/false);
    Type element = b.typeOf(gradient).getElementType();
    auto most = APFloat::getLargest(llvm::cast<FloatType>(element).getFloatSemantics());
    Value limit = nn::ConstantOp::create(b, DenseElementsAttr::get(b.typeOf(largest), FloatAttr::get(element, most)));
    Value isFinite = b.create<nn::LessEqualOp>(largest, limit);
    all = all ? b.create<nn::AndOp>(all, isFinite) : isFinite;
  }
  return all;
}

void LossScale::unscale(OpBuilder &builder, Location loc, TrainState &state, MutableArrayRef<Value> gradients) const {
  TensorBuilder b(builder, loc);
  // As GradScaler: the reciprocal in double precision, rounded.
  Value scale = read(builder, loc, state);
  Value reciprocal = cast(b, b.create<nn::ReciprocalOp>(cast(b, scale, b.getF64Type())), b.getF32Type());
  for (Value &gradient : gradients)
    gradient = b.mul(gradient, cast(b, reciprocal, b.typeOf(gradient).getElementType()));
}

void LossScale::update(OpBuilder &builder, Location loc, TrainState &state, Value areFinite) const {
  TensorBuilder b(builder, loc);
  Value skipped = state.readNumber(kSkippedState, b.getI64Type());
  state.write(kSkippedState, b.add(skipped, choose(b, areFinite, constant(b, int64_t(0)), constant(b, int64_t(1)))));
  if (!isDynamic)
    return;
  Value scale = read(builder, loc, state), good = state.readNumber(kGrowthTrackerState, b.getI64Type());
  Value next = b.add(good, constant(b, int64_t(1)));
  Value grows = b.create<nn::GreaterEqualOp>(next, constant(b, interval));
  Value grown = b.mul(scale, constant(b, growth));
  // A scale that f32 cannot hold stays as it is.
  Value largest = constant(b, static_cast<double>(std::numeric_limits<float>::max()));
  grown = choose(b, b.create<nn::LessEqualOp>(grown, largest), grown, scale);
  Value scaleIfGood = choose(b, grows, grown, scale), goodIfGood = choose(b, grows, constant(b, int64_t(0)), next);
  // Zero would make numbers that are none of the next gradients.
  Value least = constant(b, static_cast<double>(std::numeric_limits<float>::min()));
  Value shrunk = b.create<nn::MaxOp>(b.mul(scale, constant(b, backoff)), least);
  state.write(kLossScaleState, choose(b, areFinite, scaleIfGood, shrunk));
  state.write(kGrowthTrackerState, choose(b, areFinite, goodIfGood, constant(b, int64_t(0))));
}
