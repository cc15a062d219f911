// What a train section may call besides the model's operations: losses, of which each gives one number to be made small, and metrics,
// which are reported. Both are means over the samples of a batch, as PyTorch defines them.
#include "frontend/nn/OpCall.h"
#include "ir/TensorBuilder.h"

#include <fmt/format.h>

namespace nncc::frontend {

namespace {

using nn::TensorBuilder;
using mlir::Value;

/// Half precision is widened: a mean over a batch needs the bits.
Value widened(TensorBuilder &b, Value x) {
  if (b.typeOf(x).getElementTypeBitWidth() >= 32)
    return x;
  return b.create<nn::CastOp>(x, mlir::TypeAttr::get(b.getF32Type()));
}

Value meanOfAll(TensorBuilder &b, Value x) {
  return b.create<nn::ReduceMeanOp>(x, nn::dimsBetween(0, b.rankOf(x)), /*keepdims=*/false);
}

std::string typeText(Value value) { return describe(NnValue(value)); }

bool expectFloats(OpCall &call, llvm::StringRef name) {
  if (llvm::isa<mlir::FloatType>(call.tensorType(name).getElementType()))
    return true;
  call.failAt(name, fmt::format("'{}' takes floating-point numbers, found {}", name.str(),
                                typeText(call.tensor(name))));
  return false;
}

/// Prediction and target, of one shape and type.
std::optional<std::pair<Value, Value>> predictionAndTarget(OpCall &call, TensorBuilder &b,
                                                           llvm::StringRef prediction) {
  Value x = call.tensor(prediction), target = call.tensor("target");
  if (!expectFloats(call, prediction))
    return std::nullopt;
  if (nn::shapeOf(x.getType()) != nn::shapeOf(target.getType())) {
    call.failAt("target", fmt::format("expected the shape of '{}', which is {}, found {}",
                                      prediction.str(), typeText(x), typeText(target)));
    return std::nullopt;
  }
  x = widened(b, x);
  mlir::Type element = b.typeOf(x).getElementType();
  if (b.typeOf(target).getElementType() != element)
    target = b.create<nn::CastOp>(target, mlir::TypeAttr::get(element));
  return std::pair(x, target);
}

//===--------------------------------------------------------------------===//
// Classes
//===--------------------------------------------------------------------===//

/// Scores of classes with the number of the right one, for each sample.
struct Classes {
  Value scores;        ///< [..., C, ...], f32 or f64
  Value label;         ///< with extent 1 along `axis`
  Value isLabel;       ///< bool, of the scores' shape
  int64_t axis, count; ///< of the classes

  /// Of the label's score: what is zero elsewhere.
  Value pick(TensorBuilder &b, Value x) const {
    Value zero = b.scalar(x, 0.0);
    return b.create<nn::WhereOp>(isLabel, x, zero);
  }
};

/// The dimension of the classes: the one that the labels lack. PyTorch's is the second; the last one is taken where only that fits.
std::optional<int64_t> classAxis(Value scores, Value label) {
  nn::Shape whole = nn::shapeOf(scores.getType()), rest = nn::shapeOf(label.getType());
  for (int64_t axis : {int64_t(1), static_cast<int64_t>(whole.size()) - 1}) {
    if (axis >= static_cast<int64_t>(whole.size()) || axis < 0)
      continue;
    nn::Shape without = whole;
    without.erase(without.begin() + axis);
    if (without == rest)
      return axis;
  }
  return std::nullopt;
}

std::optional<Classes> classesOf(OpCall &call, TensorBuilder &b, llvm::StringRef scores) {
  Value x = call.tensor(scores), label = call.tensor("label");
  if (!expectFloats(call, scores))
    return std::nullopt;
  auto element = llvm::dyn_cast<mlir::IntegerType>(call.tensorType("label").getElementType());
  std::optional<int64_t> axis = classAxis(x, label);
  if (!element || element.getWidth() == 1 || !axis) {
    call.failAt("label",
                fmt::format("expected integers in the shape of '{}', {}, without its dimension of "
                            "classes (the second or the last), found {}",
                            scores.str(), typeText(x), typeText(label)));
    return std::nullopt;
  }
  std::optional<int64_t> count = nn::constantOf(nn::dimOf(b.typeOf(x), *axis));
  if (!count) {
    call.failAt(scores, fmt::format("the number of classes must be known, found {}", typeText(x)));
    return std::nullopt;
  }
  Classes classes;
  classes.axis = *axis;
  classes.count = *count;
  classes.scores = widened(b, x);
  nn::Shape shape = nn::shapeOf(label.getType());
  shape.insert(shape.begin() + *axis, nn::constantDim(b.getContext(), 1));
  classes.label = b.reshape(label, shape);
  llvm::SmallVector<mlir::Attribute> numbers;
  for (int64_t number = 0; number < *count; ++number)
    numbers.push_back(mlir::IntegerAttr::get(element, llvm::APInt(64, number).trunc(element.getWidth())));
  auto type = mlir::RankedTensorType::get({*count}, element);
  Value all = nn::ConstantOp::create(b, mlir::DenseElementsAttr::get(type, numbers));
  classes.isLabel = b.create<nn::EqualOp>(b.alongDim(all, *axis, b.rankOf(x)), classes.label);
  return classes;
}

/// Data can be checked before a run: a target that holds labels lies in 0 .. count - 1.
void noteRange(Value label, const Classes &classes, const NnValue &ignored) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(label);
  auto function = argument ? llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp())
                           : mlir::func::FuncOp();
  if (!function)
    return;
  mlir::Builder builder(function.getContext());
  llvm::SmallVector<int64_t> range = {0, classes.count - 1};
  if (auto *number = ignored.as<int64_t>())
    range.push_back(*number);
  function.setArgAttr(argument.getArgNumber(), nn::NNDialect::kRangeAttr,
                      builder.getDenseI64ArrayAttr(range));
}

/// The mean of `perSample`, which has extent 1 along the classes, over the samples whose label counts.
Value meanOverLabels(OpCall &call, TensorBuilder &b, const Classes &classes, Value perSample) {
  auto *ignored = call.info().find("ignore") ? call.arg("ignore").as<int64_t>() : nullptr;
  if (!ignored)
    return meanOfAll(b, perSample);
  auto element = llvm::cast<mlir::IntegerType>(b.typeOf(classes.label).getElementType());
  auto type = mlir::RankedTensorType::get({1}, element);
  Value number = nn::ConstantOp::create(
      b, mlir::DenseElementsAttr::get(type, llvm::APInt(64, *ignored, true).trunc(element.getWidth())));
  Value counts = b.create<nn::NotEqualOp>(classes.label, number);
  mlir::Type real = b.typeOf(perSample).getElementType();
  Value weight = b.create<nn::CastOp>(counts, mlir::TypeAttr::get(real));
  llvm::SmallVector<int64_t> all = nn::dimsBetween(0, b.rankOf(perSample));
  return b.div(b.sum(b.mul(perSample, weight), all), b.sum(weight, all));
}

OpResults negativeLogLikelihood(OpCall &call, TensorBuilder &b, const Classes &classes,
                                Value logProbabilities, double smoothing) {
  Value target;
  if (smoothing == 0.0) {
    target = classes.pick(b, logProbabilities);
  } else {
    double others = smoothing / static_cast<double>(classes.count);
    Value weight = b.create<nn::WhereOp>(classes.isLabel, b.scalar(logProbabilities, 1.0 - smoothing + others),
                                         b.scalar(logProbabilities, others));
    target = b.mul(logProbabilities, weight);
  }
  return meanOverLabels(call, b, classes, b.neg(b.sumKept(target, {classes.axis})));
}

OpResults crossEntropy(OpCall &call) {
  TensorBuilder b = call.tensorBuilder();
  Value label = call.tensor("label");
  double smoothing = call.number("label_smoothing");
  if (smoothing < 0.0 || smoothing > 1.0) {
    call.failAt("label_smoothing", "must be between 0 and 1");
    return {};
  }
  bool isDistribution = llvm::isa<mlir::FloatType>(call.tensorType("label").getElementType());
  if (isDistribution) {
    Value x = call.tensor("logits");
    if (!expectFloats(call, "logits"))
      return {};
    int64_t rank = b.rankOf(x);
    std::optional<int64_t> count = rank > 1 ? nn::constantOf(nn::dimOf(b.typeOf(x), 1)) : std::nullopt;
    if (nn::shapeOf(x.getType()) != nn::shapeOf(label.getType()) || !count || call.has("ignore")) {
      call.failAt("label", call.has("ignore")
                               ? "probabilities have no label to ignore"
                               : fmt::format("probabilities must have the logits' shape, {}, found {}",
                                             typeText(x), typeText(label)));
      return {};
    }
    x = widened(b, x);
    mlir::Type real = b.typeOf(x).getElementType();
    Value target = b.typeOf(label).getElementType() == real
                       ? label
                       : b.create<nn::CastOp>(label, mlir::TypeAttr::get(real));
    if (smoothing != 0.0)
      target = b.add(b.mul(target, 1.0 - smoothing), b.scalar(x, smoothing / static_cast<double>(*count)));
    Value logProbabilities = b.create<nn::LogSoftmaxOp>(x, 1);
    return meanOfAll(b, b.neg(b.sumKept(b.mul(logProbabilities, target), {1})));
  }
  std::optional<Classes> classes = classesOf(call, b, "logits");
  if (!classes)
    return {};
  noteRange(label, *classes, call.arg("ignore"));
  Value logProbabilities = b.create<nn::LogSoftmaxOp>(classes->scores, classes->axis);
  return negativeLogLikelihood(call, b, *classes, logProbabilities, smoothing);
}

OpResults nll(OpCall &call) {
  TensorBuilder b = call.tensorBuilder();
  std::optional<Classes> classes = classesOf(call, b, "log_probabilities");
  if (!classes)
    return {};
  noteRange(call.tensor("label"), *classes, NoneValue());
  return negativeLogLikelihood(call, b, *classes, classes->scores, 0.0);
}

/// The label is among the k best when fewer than k scores are above its own.
OpResults accuracy(OpCall &call) {
  TensorBuilder b = call.tensorBuilder();
  std::optional<int64_t> k = call.integerFrom("k", 1);
  std::optional<Classes> classes = classesOf(call, b, "logits");
  if (!k || !classes)
    return {};
  Value right;
  if (*k == 1) {
    // Of equal scores the first one counts, as argmax has it.
    Value best = b.create<nn::ArgMaxOp>(classes->scores, classes->axis, /*keepdims=*/true);
    Value label = classes->label;
    mlir::Type index = b.typeOf(best).getElementType();
    if (b.typeOf(label).getElementType() != index)
      label = b.create<nn::CastOp>(label, mlir::TypeAttr::get(index));
    right = b.create<nn::EqualOp>(best, label);
  } else {
    Value own = b.sumKept(classes->pick(b, classes->scores), {classes->axis});
    Value above = b.create<nn::GreaterOp>(classes->scores, own);
    mlir::Type real = b.typeOf(own).getElementType();
    Value rank = b.sumKept(b.create<nn::CastOp>(above, mlir::TypeAttr::get(real)), {classes->axis});
    right = b.create<nn::LessOp>(rank, b.scalar(rank, static_cast<double>(*k)));
  }
  return meanOfAll(b, b.create<nn::CastOp>(right, mlir::TypeAttr::get(b.getF32Type())));
}

//===--------------------------------------------------------------------===//
// Numbers
//===--------------------------------------------------------------------===//

/// log(1 + exp(x)) - x * target, which is the cross-entropy of sigmoid(x) and overflows for no x.
OpResults binaryCrossEntropy(OpCall &call) {
  TensorBuilder b = call.tensorBuilder();
  auto both = predictionAndTarget(call, b, "logits");
  if (!both)
    return {};
  auto [x, target] = *both;
  Value softplus = b.create<nn::SoftplusOp>(x, b.getF64FloatAttr(1.0));
  return meanOfAll(b, b.sub(softplus, b.mul(x, target)));
}

OpResults meanSquaredError(OpCall &call) {
  TensorBuilder b = call.tensorBuilder();
  auto both = predictionAndTarget(call, b, "prediction");
  if (!both)
    return {};
  return meanOfAll(b, b.create<nn::SquareOp>(b.sub(both->first, both->second)));
}

OpResults meanAbsoluteError(OpCall &call) {
  TensorBuilder b = call.tensorBuilder();
  auto both = predictionAndTarget(call, b, "prediction");
  if (!both)
    return {};
  return meanOfAll(b, b.create<nn::AbsOp>(b.sub(both->first, both->second)));
}

OpResults huber(OpCall &call) {
  TensorBuilder b = call.tensorBuilder();
  double delta = call.number("delta");
  if (!(delta > 0.0)) {
    call.failAt("delta", "must be above 0");
    return {};
  }
  auto both = predictionAndTarget(call, b, "prediction");
  if (!both)
    return {};
  Value difference = b.sub(both->first, both->second), size = b.create<nn::AbsOp>(difference);
  Value square = b.mul(b.create<nn::SquareOp>(difference), 0.5);
  Value line = b.mul(b.sub(size, b.scalar(size, 0.5 * delta)), delta);
  Value isSmall = b.create<nn::LessEqualOp>(size, b.scalar(size, delta));
  return meanOfAll(b, b.create<nn::WhereOp>(isSmall, square, line));
}

} // namespace

llvm::ArrayRef<OpEntry> lossOps() {
  static constexpr std::string_view pair = "prediction: tensor, target: tensor";
  static const OpEntry entries[] = {
      {"cross_entropy", "loss",
       "logits: tensor, label: tensor, label_smoothing: float = 0.0, ignore: int? = none", "", "",
       "mean of -log softmax(logits)[label]; labels equal to `ignore` do not count; `label` may also hold "
       "probabilities of the classes",
       crossEntropy},
      {"binary_cross_entropy", "loss", "logits: tensor, target: tensor", "", "",
       "mean of the cross-entropy between sigmoid(logits) and targets in 0..1", binaryCrossEntropy},
      {"mse", "loss", pair, "", "", "mean of the squared difference", meanSquaredError},
      {"l1", "loss", pair, "", "", "mean of the absolute difference", meanAbsoluteError},
      {"huber", "loss", "prediction: tensor, target: tensor, delta: float = 1.0", "", "",
       "half the square below `delta`, linear above", huber},
      {"nll", "loss", "log_probabilities: tensor, label: tensor", "", "",
       "mean of -log_probabilities[label]", nll},
      {"accuracy", "metric", "logits: tensor, label: tensor, k: int = 1", "", "",
       "share of labels among the `k` largest logits", accuracy},
      {"mean_squared_error", "metric", pair, "", "", "mean of the squared difference",
       meanSquaredError},
      {"mean_absolute_error", "metric", pair, "", "", "mean of the absolute difference",
       meanAbsoluteError},
  };
  return entries;
}

} // namespace nncc::frontend
