// Schedules, clipping and updates; see Optimizers.h. Numbers that belong to a whole step (rate, bias corrections) are computed in
// double precision, as PyTorch's host code does; they are a few scalar operations.

#include "passes/Optimizers.h"
#include "ir/TensorBuilder.h"

#include <numbers>

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;

namespace {

double numberIn(DictionaryAttr settings, StringRef name) { return settings.getAs<FloatAttr>(name).getValueAsDouble(); }
bool flagIn(DictionaryAttr settings, StringRef name) { return settings.getAs<BoolAttr>(name).getValue(); }
StringRef kindOf(DictionaryAttr settings) { return settings.getAs<StringAttr>("kind").getValue(); }

/// Formulas on numbers of one element type.
struct Numbers {
  TensorBuilder &b;
  Value of(double value, Type element) {
    auto type = RankedTensorType::get({}, element);
    return nn::ConstantOp::create(b, DenseElementsAttr::get(type, b.getFloatAttr(element, value)));
  }
  Value real(double value) { return of(value, b.getF64Type()); }
  Value cast(Value x, Type element) {
    return b.typeOf(x).getElementType() == element ? x : b.create<nn::CastOp>(x, TypeAttr::get(element));
  }
  Value min(Value a, Value c) { return b.create<nn::MinOp>(a, c); }
  Value max(Value a, Value c) { return b.create<nn::MaxOp>(a, c); }
  Value floor(Value x) { return b.create<nn::FloorOp>(x); }
  Value power(double base, Value exponent) { return b.create<nn::PowOp>(real(base), exponent); }
};

} // namespace

Value passes::buildLearningRate(OpBuilder &builder, Location loc, TrainState &state, DictionaryAttr settings) {
  TensorBuilder b(builder, loc);
  Numbers n{b};
  Type real = b.getF64Type();
  auto optimizer = settings.getAs<DictionaryAttr>("optimizer");
  Value rate = state.readNumber(kLearningRateState, real, numberIn(optimizer, "lr"));
  auto schedule = settings.getAs<DictionaryAttr>("schedule");
  if (!schedule)
    return rate;
  auto epochsSetting = settings.getAs<IntegerAttr>("epochs");
  double epochs = epochsSetting ? static_cast<double>(epochsSetting.getInt()) : 1.0;
  Value step = n.cast(readCallCount(builder, loc, state, settings), real);
  Value perEpoch = state.readNumber(kStepsPerEpochState, real, 1.0);
  Value epoch = b.div(step, perEpoch);
  double warmup = numberIn(schedule, "warmup_epochs");

  // The share of the way from the end of the warm-up to the end of the training.
  auto progress = [&] {
    Value total = state.readNumber(kEpochsState, real, epochs);
    Value way = n.max(b.sub(total, n.real(warmup)), n.real(1e-9));
    return n.min(n.max(b.div(b.sub(epoch, n.real(warmup)), way), n.real(0.0)), n.real(1.0));
  };
  auto fromOneTo = [&](double floor, Value share) { return b.add(b.mul(share, n.real(1.0 - floor)), n.real(floor)); };
  Value factor;
  StringRef kind = kindOf(schedule);
  if (kind == "cosine") {
    Value angle = b.mul(progress(), n.real(std::numbers::pi));
    Value half = b.mul(b.add(b.create<nn::CosOp>(angle), n.real(1.0)), n.real(0.5));
    factor = fromOneTo(numberIn(schedule, "floor"), half);
  } else if (kind == "linear") {
    factor = fromOneTo(numberIn(schedule, "floor"), b.sub(n.real(1.0), progress()));
  } else if (kind == "step") {
    Value count = n.floor(b.div(n.floor(epoch), n.real(numberIn(schedule, "every_epochs"))));
    factor = n.power(numberIn(schedule, "gamma"), count);
  } else if (kind == "multistep") {
    Value count = n.real(0.0);
    for (auto at : schedule.getAs<ArrayAttr>("epochs").getAsRange<FloatAttr>()) {
      Value isPast = b.create<nn::GreaterEqualOp>(n.floor(epoch), n.real(at.getValueAsDouble()));
      count = b.add(count, n.cast(isPast, real));
    }
    factor = n.power(numberIn(schedule, "gamma"), count);
  } else if (kind == "exponential") {
    factor = n.power(numberIn(schedule, "gamma"), n.floor(epoch));
  }
  if (factor)
    rate = b.mul(rate, factor);
  if (warmup > 0.0) {
    // The first step takes its share of the way already, so that none is lost with a rate of zero.
    Value share = b.div(b.add(step, n.real(1.0)), b.mul(perEpoch, n.real(warmup)));
    rate = b.mul(rate, n.min(share, n.real(1.0)));
  }
  return rate;
}

void passes::clipGradients(OpBuilder &builder, Location loc, DictionaryAttr clip, MutableArrayRef<Value> gradients) {
  TensorBuilder b(builder, loc);
  Numbers n{b};
  double most = numberIn(clip, "max");
  if (kindOf(clip) == "value") {
    for (Value &gradient : gradients)
      gradient = b.create<nn::ClipOp>(gradient, b.getF64FloatAttr(-most), b.getF64FloatAttr(most));
    return;
  }
  Type real = b.getF64Type();
  Value square;
  for (Value gradient : gradients) {
    Value part = n.cast(b.sum(b.create<nn::SquareOp>(gradient), {0}), real);
    square = square ? b.add(square, part) : part;
  }
  // As torch.nn.utils.clip_grad_norm_.
  Value norm = b.create<nn::SqrtOp>(square);
  Value factor = n.min(b.div(n.real(most), b.add(norm, n.real(1e-6))), n.real(1.0));
  for (Value &gradient : gradients)
    gradient = b.mul(gradient, n.cast(factor, b.typeOf(gradient).getElementType()));
}

Value passes::buildUpdate(OpBuilder &builder, Location loc, TrainState &state, DictionaryAttr optimizer,
                          const ParameterGroup &group, Value rate) {
  TensorBuilder b(builder, loc);
  Numbers n{b};
  Type element = b.typeOf(group.values).getElementType();
  auto constant = [&](double value) { return n.of(value, element); };
  auto readLike = [&](StringRef name) { return state.readLike((name + group.suffix).str(), group.state); };
  auto write = [&](StringRef name, Value value) { state.write((name + group.suffix).str(), value); };
  Value values = group.values, gradient = group.gradients;
  StringRef kind = kindOf(optimizer);
  double decay = group.decays ? numberIn(optimizer, "weight_decay") : 0.0;
  Value rateHere = n.cast(rate, element);
  if (decay != 0.0 && kind == "adamw")
    values = b.mul(values, n.cast(b.sub(n.real(1.0), b.mul(rate, n.real(decay))), element));
  else if (decay != 0.0)
    gradient = b.add(gradient, b.mul(group.values, constant(decay)));

  if (kind == "sgd") {
    double momentum = numberIn(optimizer, "momentum");
    if (momentum != 0.0) {
      Value buffer = b.add(b.mul(readLike("train.momentum_buffer"), constant(momentum)), gradient);
      write("train.momentum_buffer", buffer);
      gradient = flagIn(optimizer, "nesterov") ? b.add(gradient, b.mul(buffer, constant(momentum))) : buffer;
    }
    return b.sub(values, b.mul(gradient, rateHere));
  }
  if (kind == "rmsprop") {
    double alpha = numberIn(optimizer, "alpha"), momentum = numberIn(optimizer, "momentum");
    Value square = b.add(b.mul(readLike("train.square_avg"), constant(alpha)),
                         b.mul(b.create<nn::SquareOp>(gradient), constant(1.0 - alpha)));
    write("train.square_avg", square);
    Value change = b.div(gradient, b.add(b.create<nn::SqrtOp>(square), constant(numberIn(optimizer, "eps"))));
    if (momentum != 0.0) {
      change = b.add(b.mul(readLike("train.momentum_buffer"), constant(momentum)), change);
      write("train.momentum_buffer", change);
    }
    return b.sub(values, b.mul(change, rateHere));
  }
  // Adam and AdamW.
  auto betas = optimizer.getAs<ArrayAttr>("betas");
  double beta1 = cast<FloatAttr>(betas[0]).getValueAsDouble(), beta2 = cast<FloatAttr>(betas[1]).getValueAsDouble();
  Value mean = readLike("train.exp_avg");
  mean = b.add(mean, b.mul(b.sub(gradient, mean), constant(1.0 - beta1)));
  Value square = b.add(b.mul(readLike("train.exp_avg_sq"), constant(beta2)),
                       b.mul(b.create<nn::SquareOp>(gradient), constant(1.0 - beta2)));
  write("train.exp_avg", mean);
  write("train.exp_avg_sq", square);
  Value step = state.readNumber(kStepState, b.getI64Type());
  Value count = b.add(n.cast(step, b.getF64Type()), n.real(1.0));
  Value size = b.div(rate, b.sub(n.real(1.0), n.power(beta1, count)));
  Value correction = b.create<nn::SqrtOp>(b.sub(n.real(1.0), n.power(beta2, count)));
  Value root = b.div(b.create<nn::SqrtOp>(square), n.cast(correction, element));
  Value change = b.div(mean, b.add(root, constant(numberIn(optimizer, "eps"))));
  return b.sub(values, b.mul(change, n.cast(size, element)));
}
