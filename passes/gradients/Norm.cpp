// Gradients of softmax, normalisations and attention. Statistics are computed again from the input rather than kept: they are
// small, and the pass over the input is needed anyway. Half precision is widened to f32, as the kernels of the ops themselves do.

#include "ir/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

Value cast(TensorBuilder &b, Value x, Type element) {
  return b.typeOf(x).getElementType() == element ? x : b.create<nn::CastOp>(x, TypeAttr::get(element));
}

Value widen(TensorBuilder &b, Value x) {
  bool isHalf = b.typeOf(x).getElementTypeBitWidth() < 32;
  return isHalf ? cast(b, x, b.getF32Type()) : x;
}

Value mean(TensorBuilder &b, Value x, ArrayRef<int64_t> axes) {
  return b.create<nn::ReduceMeanOp>(x, axes, /*keepdims=*/true);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// y * (g - sum(g * y)).
Value softmaxGradient(TensorBuilder &b, Value y, Value g, int64_t axis) {
  return b.mul(y, b.sub(g, b.sumKept(b.mul(g, y), {axis})));
}

struct SoftmaxGradient : nn::DifferentiableOpInterface::ExternalModel<SoftmaxGradient, nn::SoftmaxOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = llvm::cast<nn::SoftmaxOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value y = widen(b, op.getResult()), g = widen(b, resultGradients[0]);
    gradients[0] = cast(b, softmaxGradient(b, y, g, op.getAxis()), b.typeOf(op.getX()).getElementType());
    return success();
  }
};

/// g - exp(y) * sum(g).
struct LogSoftmaxGradient : nn::DifferentiableOpInterface::ExternalModel<LogSoftmaxGradient, nn::LogSoftmaxOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = llvm::cast<nn::LogSoftmaxOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value y = widen(b, op.getResult()), g = widen(b, resultGradients[0]);
    Value gradient = b.sub(g, b.mul(b.create<nn::ExpOp>(y), b.sumKept(g, {static_cast<int64_t>(op.getAxis())})));
    gradients[0] = cast(b, gradient, b.typeOf(op.getX()).getElementType());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// x over the root of its mean square along `axes`, after subtracting its mean where it is centred.
struct Normalised {
  Normalised(TensorBuilder &b, Value x, ArrayRef<int64_t> axes, double epsilon, bool isCentred)
      : axes(axes), isCentred(isCentred) {
    Value centred = isCentred ? b.sub(x, mean(b, x, axes)) : x;
    Value square = mean(b, b.create<nn::SquareOp>(centred), axes);
    factor = b.create<nn::RsqrtOp>(b.add(square, b.scalar(x, epsilon)));
    value = b.mul(centred, factor);
  }
  /// The gradient of x from that of `value`.
  Value gradient(TensorBuilder &b, Value g) const {
    Value rest = b.sub(g, b.mul(value, mean(b, b.mul(g, value), axes)));
    if (isCentred)
      rest = b.sub(rest, mean(b, g, axes));
    return b.mul(rest, factor);
  }

  SmallVector<int64_t> axes;
  bool isCentred;
  Value factor, value;
};

/// Gradients of an op normalise(x) * scale + bias. `split` brings x, and what has its shape, into the shape in which `axes` are the
/// normalised dimensions, `join` back; scale and bias broadcast as `affine` shapes them.
struct NormRule {
  SmallVector<int64_t> axes;
  double epsilon;
  bool isCentred = true;
  llvm::function_ref<Value(Value)> split, join, affine;

  void build(TensorBuilder &b, Value x, Value scale, Value bias, Value g, ArrayRef<bool> isWanted,
             MutableArrayRef<Value> gradients) const {
    RankedTensorType type = b.typeOf(x);
    Type element = type.getElementType();
    g = widen(b, g);
    Normalised normalised(b, split(widen(b, x)), axes, epsilon, isCentred);
    if (isWanted[0]) {
      Value inner = scale ? b.mul(g, affine(widen(b, scale))) : g;
      gradients[0] = cast(b, join(normalised.gradient(b, split(inner))), element);
    }
    auto toAffine = [&](Value gradient, Value of) {
      Value shaped = affine(of);
      RankedTensorType broadcast = b.typeOf(shaped).clone(b.typeOf(gradient).getElementType());
      Value summed = b.sumTo(gradient, broadcast);
      return cast(b, b.reshape(summed, b.typeOf(of).clone(b.typeOf(gradient).getElementType())), element);
    };
    unsigned next = 1;
    if (scale && isWanted[next++])
      gradients[next - 1] = toAffine(b.mul(g, join(normalised.value)), scale);
    if (bias && isWanted[next])
      gradients[next] = toAffine(g, bias);
  }
};

Value same(Value x) { return x; }

struct LayerNormGradient : nn::DifferentiableOpInterface::ExternalModel<LayerNormGradient, nn::LayerNormOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = llvm::cast<nn::LayerNormOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    int64_t rank = b.rankOf(op.getX());
    NormRule rule{dimsBetween(rank - op.getDims(), rank), op.getEpsilon().convertToDouble(), true, same, same, same};
    rule.build(b, op.getX(), op.getScale(), op.getBias(), resultGradients[0], isWanted, gradients);
    return success();
  }
};

struct RmsNormGradient : nn::DifferentiableOpInterface::ExternalModel<RmsNormGradient, nn::RmsNormOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = llvm::cast<nn::RmsNormOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    int64_t rank = b.rankOf(op.getX());
    NormRule rule{dimsBetween(rank - op.getDims(), rank), op.getEpsilon().convertToDouble(), false, same, same, same};
    rule.build(b, op.getX(), op.getScale(), Value(), resultGradients[0], isWanted, gradients);
    return success();
  }
};

struct GroupNormGradient : nn::DifferentiableOpInterface::ExternalModel<GroupNormGradient, nn::GroupNormOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = llvm::cast<nn::GroupNormOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    nn::Shape whole = nn::shapeOf(op.getX().getType()), grouped = whole;
    int64_t rank = whole.size(), groups = op.getGroups();
    grouped[1] = nn::constantDim(b.getContext(), groups);
    grouped.insert(grouped.begin() + 2, nn::constantDim(b.getContext(), *nn::constantOf(whole[1]) / groups));
    auto split = [&](Value x) { return b.reshape(x, grouped); };
    auto join = [&](Value x) { return b.reshape(x, whole); };
    auto affine = [&](Value x) { return b.alongDim(x, 1, rank); };
    NormRule rule{dimsBetween(2, rank + 1), op.getEpsilon().convertToDouble(), true, split, join, affine};
    rule.build(b, op.getX(), op.getScale(), op.getBias(), resultGradients[0], isWanted, gradients);
    return success();
  }
};

struct InstanceNormGradient
    : nn::DifferentiableOpInterface::ExternalModel<InstanceNormGradient, nn::InstanceNormOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = llvm::cast<nn::InstanceNormOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    int64_t rank = b.rankOf(op.getX());
    auto affine = [&](Value x) { return b.alongDim(x, 1, rank); };
    NormRule rule{dimsBetween(2, rank), op.getEpsilon().convertToDouble(), true, same, same, affine};
    rule.build(b, op.getX(), op.getScale(), op.getBias(), resultGradients[0], isWanted, gradients);
    return success();
  }
};

/// With given statistics, (x - mean) * factor * scale + bias. With those of the batch the gradient of x loses its mean and its
/// projection on the normalised x, which the gradients of bias and scale have summed up already; mean and variance get none.
struct BatchNormGradient : nn::DifferentiableOpInterface::ExternalModel<BatchNormGradient, nn::BatchNormOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = llvm::cast<nn::BatchNormOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    int64_t rank = b.rankOf(op.getX());
    Type element = b.typeOf(op.getX()).getElementType();
    SmallVector<int64_t> notChannels = dimsBetween(0, rank);
    notChannels.erase(notChannels.begin() + 1);
    Value g = widen(b, resultGradients[0]), scale = widen(b, op.getScale());
    Value variance = widen(b, op.getVariance());
    Value factor = b.create<nn::RsqrtOp>(b.add(variance, b.scalar(variance, op.getEpsilon().convertToDouble())));
    Value scaledFactor = b.mul(scale, factor);
    auto perChannel = [&](Value x) { return b.alongDim(x, 1, rank); };
    if (op.getBatchStatistics()) {
      Value centred = b.sub(widen(b, op.getX()), perChannel(widen(b, op.getMean())));
      Value product = b.mul(b.sum(b.mul(g, centred), notChannels), factor), sum = b.sum(g, notChannels);
      if (isWanted[0]) {
        // (g - sum / n - centred * factor * product / n) * scale * factor, as a linear form of g and centred.
        Value count = b.count(g, notChannels);
        count = b.reshape(count, SmallVector<nn::Dim>{nn::constantDim(b.getContext(), 1)});
        Value perCentred = b.neg(b.div(b.mul(b.mul(product, factor), scaledFactor), count));
        Value constant = b.neg(b.div(b.mul(sum, scaledFactor), count));
        Value gradient = b.add(b.add(b.mul(g, perChannel(scaledFactor)), b.mul(centred, perChannel(perCentred))), perChannel(constant));
        gradients[0] = cast(b, gradient, element);
      }
      if (isWanted[1])
        gradients[1] = cast(b, product, element);
      if (isWanted[2])
        gradients[2] = cast(b, sum, element);
      return success();
    }
    if (isWanted[0])
      gradients[0] = cast(b, b.mul(g, perChannel(scaledFactor)), element);
    Value sum = b.sum(g, notChannels);
    if (isWanted[1] || isWanted[4]) {
      Value centred = b.sub(widen(b, op.getX()), perChannel(widen(b, op.getMean())));
      Value product = b.mul(b.sum(b.mul(g, centred), notChannels), factor);
      if (isWanted[1])
        gradients[1] = cast(b, product, element);
      if (isWanted[4]) // d factor / d variance = -factor^3 / 2
        gradients[4] = cast(b, b.mul(b.mul(b.mul(product, scaledFactor), factor), -0.5), element);
    }
    if (isWanted[2])
      gradients[2] = cast(b, sum, element);
    if (isWanted[3])
      gradients[3] = cast(b, b.neg(b.mul(sum, scaledFactor)), element);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The scores and their softmax are computed again as matrices; a fused backward kernel would keep them in registers.
struct AttentionGradient : nn::DifferentiableOpInterface::ExternalModel<AttentionGradient, nn::AttentionOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = llvm::cast<nn::AttentionOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value q = widen(b, op.getQ()), k = widen(b, op.getK()), v = widen(b, op.getV()), g = widen(b, resultGradients[0]);
    int64_t rank = b.rankOf(q);
    Type element = b.typeOf(op.getQ()).getElementType();
    Value mask = op.getMask();
    // Heads of q that share one of k and v become a dimension of their own.
    int64_t keyHeads = rank >= 3 ? b.typeOf(k).getDimSize(rank - 3) : 0;
    if (rank >= 3 && nn::dimOf(b.typeOf(q), rank - 3) != nn::dimOf(b.typeOf(k), rank - 3)) {
      for (Value *tensor : {&q, &k, &v, &g})
        *tensor = splitHeads(b, *tensor, keyHeads);
      if (mask)
        mask = splitHeads(b, mask, keyHeads);
      ++rank;
    }
    auto product = [&](Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
      return b.create<nn::MatmulOp>(lhs, rhs, Value(), transposeLhs, transposeRhs);
    };
    double scale = op.scaleOrDefault();
    Value scores = b.mul(product(q, k, false, true), scale);
    Value counts; // bool: scores that are not masked
    if (mask) {
      if (llvm::isa<FloatType>(b.typeOf(mask).getElementType()))
        scores = b.add(scores, widen(b, mask));
      else
        counts = mask;
    }
    if (op.getCausal()) {
      Value lower = causalMask(b, scores);
      counts = counts ? b.create<nn::AndOp>(counts, lower) : lower;
    }
    // A number that its exponential makes 0, and that leaves no NaN where a row is masked as a whole.
    if (counts)
      scores = b.create<nn::WhereOp>(counts, scores, b.scalar(scores, -1e30));
    Value weights = b.create<nn::SoftmaxOp>(scores, b.getI64IntegerAttr(rank - 1));
    if (counts)
      weights = b.create<nn::WhereOp>(counts, weights, b.scalar(weights, 0.0));
    /// `split` is the operand as it was multiplied, with dimensions along which it was broadcast.
    auto result = [&](Value gradient, Value split, Value operand) {
      Type computed = b.typeOf(gradient).getElementType();
      Value sum = b.sumTo(gradient, b.typeOf(split).clone(computed));
      return cast(b, b.reshape(sum, b.typeOf(operand).clone(computed)), element);
    };
    if (isWanted[2])
      gradients[2] = result(product(weights, g, true, false), v, op.getV());
    bool maskIsWanted = op.getMask() && isWanted[3];
    if (!isWanted[0] && !isWanted[1] && !maskIsWanted)
      return success();
    Value scoreGradient = softmaxGradient(b, weights, product(g, v, false, true), rank - 1);
    if (maskIsWanted)
      gradients[3] = result(scoreGradient, mask, op.getMask());
    scoreGradient = b.mul(scoreGradient, scale);
    if (isWanted[0])
      gradients[0] = result(product(scoreGradient, k, false, false), q, op.getQ());
    if (isWanted[1])
      gradients[1] = result(product(scoreGradient, q, true, false), k, op.getK());
    return success();
  }

  /// [..., H, S, T] as [..., keyHeads, H / keyHeads, S, T]. A tensor without heads, or with one for all, stays so.
  static Value splitHeads(TensorBuilder &b, Value x, int64_t keyHeads) {
    nn::Shape shape = nn::shapeOf(x.getType());
    if (shape.size() < 3)
      return x;
    nn::Dim &heads = shape[shape.size() - 3];
    int64_t shared = *nn::constantOf(heads) == 1 ? 1 : *nn::constantOf(heads) / keyHeads;
    heads = nn::constantDim(b.getContext(), *nn::constantOf(heads) / shared);
    shape.insert(shape.end() - 2, nn::constantDim(b.getContext(), shared));
    return b.reshape(x, shape);
  }

  /// [S, T], true for t <= s.
  static Value causalMask(TensorBuilder &b, Value scoreValues) {
    RankedTensorType scores = b.typeOf(scoreValues);
    int64_t rank = scores.getRank();
    if (scores.isDynamicDim(rank - 1) || scores.isDynamicDim(rank - 2)) {
      nn::Dim s = nn::dimOf(scores, rank - 2), t = nn::dimOf(scores, rank - 1), one = nn::constantDim(b.getContext(), 1);
      Value query = b.reshape(b.positions(scoreValues, s), {s, one}), key = b.reshape(b.positions(scoreValues, t), {one, t});
      return b.create<nn::LessEqualOp>(key, query);
    }
    int64_t rows = scores.getDimSize(rank - 2), columns = scores.getDimSize(rank - 1);
    SmallVector<bool> lower;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        lower.push_back(column <= row);
    auto type = RankedTensorType::get({rows, columns}, b.getI1Type());
    return nn::ConstantOp::create(b, DenseElementsAttr::get(type, lower));
  }
};

} // namespace

void passes::attachNormGradients(MLIRContext &context) {
  nn::SoftmaxOp::attachInterface<SoftmaxGradient>(context);
  nn::LogSoftmaxOp::attachInterface<LogSoftmaxGradient>(context);
  nn::LayerNormOp::attachInterface<LayerNormGradient>(context);
  nn::RmsNormOp::attachInterface<RmsNormGradient>(context);
  nn::GroupNormOp::attachInterface<GroupNormGradient>(context);
  nn::InstanceNormOp::attachInterface<InstanceNormGradient>(context);
  nn::BatchNormOp::attachInterface<BatchNormGradient>(context);
  nn::AttentionOp::attachInterface<AttentionGradient>(context);
}
