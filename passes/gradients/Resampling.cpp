// Gradients of what maps each spatial dimension by itself onto another number of elements: resizing and adaptive pools. Linear maps go
// backwards dimension by dimension, which reads far fewer elements than all neighbours at once.

#include "ir/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

/// The positions from `begin` up to `end` of x that an adaptive pool's position reads.
struct Window {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

Window adaptiveWindow(int64_t position, int64_t in, int64_t out) {
  return {position * in / out, ((position + 1) * in + out - 1) / out};
}

/// A constant matrix of an element type.
Value matrix(TensorBuilder &b, int64_t rows, int64_t columns, ArrayRef<double> values, Type element) {
  auto type = RankedTensorType::get({rows, columns}, element);
  SmallVector<Attribute> attributes;
  for (double value : values)
    attributes.push_back(b.getFloatAttr(element, value));
  return nn::ConstantOp::create(b, DenseElementsAttr::get(type, attributes));
}

//===----------------------------------------------------------------------===//
// nn.resize
//===----------------------------------------------------------------------===//

/// What position i of the result takes of element p of x, at [i * in + p].
SmallVector<double> resizeWeights(int64_t in, int64_t out, nn::ResizeMode mode, nn::ResizeCoordinates coordinates) {
  SmallVector<double> weights(in * out, 0.0);
  for (int64_t i = 0; i < out; ++i) {
    // The position that it reads, as a fraction.
    int64_t numerator = i * in, denominator = out;
    if (coordinates == nn::ResizeCoordinates::HalfPixel) {
      numerator = (2 * i + 1) * in - out;
      denominator = 2 * out;
    } else if (coordinates == nn::ResizeCoordinates::AlignCorners) {
      numerator = out == 1 ? 0 : i * (in - 1);
      denominator = std::max<int64_t>(out - 1, 1);
    }
    double *row = &weights[i * in];
    auto clamped = [&](int64_t place) { return std::clamp<int64_t>(place, 0, in - 1); };
    if (mode == nn::ResizeMode::Linear) {
      numerator = std::max<int64_t>(numerator, 0);
      int64_t lower = clamped(numerator / denominator);
      double upper = static_cast<double>(numerator - lower * denominator) / static_cast<double>(denominator);
      row[lower] += 1 - upper;
      row[clamped(lower + 1)] += upper;
    } else if (coordinates == nn::ResizeCoordinates::Asymmetric) {
      row[clamped(numerator / denominator)] = 1;
    } else { // halves go up for half_pixel, down for align_corners
      int64_t below = coordinates == nn::ResizeCoordinates::AlignCorners ? 1 : 0;
      row[clamped((2 * numerator + denominator - below) / (2 * denominator))] = 1;
    }
  }
  return weights;
}

struct ResizeGradient : nn::DifferentiableOpInterface::ExternalModel<ResizeGradient, nn::ResizeOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::ResizeOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    nn::Shape from = nn::shapeOf(op.getX().getType());
    Value g = resultGradients[0];
    for (unsigned dim = 2; dim < from.size(); ++dim) {
      nn::Shape shape = nn::shapeOf(g.getType());
      nn::Dim out = shape[dim], in = from[dim];
      if (in == out)
        continue;
      Type element = b.typeOf(g).getElementType();
      std::optional<int64_t> taps = nn::ResizeGradientOp::tapsOf(in, out, op.getMode(), op.getCoordinates());
      if (taps && *taps <= nn::ResizeGradientOp::kMostTaps) {
        shape[dim] = in;
        g = b.create<nn::ResizeGradientOp>(*nn::tensorType(std::nullopt, shape, element), g, op.getMode(), op.getCoordinates());
        continue;
      }
      // Few elements that many positions read: the map is dense.
      std::optional<int64_t> inExtent = nn::constantOf(in), outExtent = nn::constantOf(out);
      if (!inExtent || !outExtent)
        return op.emitOpError("has a dynamic spatial dimension that is no multiple of the other, for which it has no gradient");
      g = b.contractAlong(g, dim, matrix(b, *outExtent, *inExtent,
                                         resizeWeights(*inExtent, *outExtent, op.getMode(), op.getCoordinates()), element));
    }
    gradients[0] = g;
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Adaptive pools
//===----------------------------------------------------------------------===//

/// The windows that divide the spatial dimensions evenly; nothing where the extents are dynamic or do not divide.
std::optional<SmallVector<int64_t>> evenWindows(RankedTensorType x, ArrayRef<int64_t> outputSize) {
  SmallVector<int64_t> windows;
  for (auto [i, out] : llvm::enumerate(outputSize)) {
    if (x.isDynamicDim(2 + i) || x.getDimSize(2 + i) % out != 0)
      return std::nullopt;
    windows.push_back(x.getDimSize(2 + i) / out);
  }
  return windows;
}

LogicalResult refuseDynamic(Operation *op, RankedTensorType x) {
  for (int64_t dim = 2; dim < x.getRank(); ++dim)
    if (x.isDynamicDim(dim))
      return op->emitOpError("has a dynamic spatial dimension and an output size other than 1, for which it has no gradient");
  return success();
}

struct AdaptiveAvgPoolGradient
    : nn::DifferentiableOpInterface::ExternalModel<AdaptiveAvgPoolGradient, nn::AdaptiveAvgPoolOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::AdaptiveAvgPoolOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    RankedTensorType x = b.typeOf(op.getX());
    Value g = resultGradients[0];
    if (llvm::all_of(op.getOutputSize(), [](int64_t size) { return size == 1; })) {
      gradients[0] = b.expand(b.div(g, b.count(op.getX(), dimsBetween(2, x.getRank()))), x);
      return success();
    }
    SmallVector<int64_t> ones(op.getOutputSize().size(), 1), zeros(op.getOutputSize().size(), 0);
    if (std::optional<SmallVector<int64_t>> windows = evenWindows(x, op.getOutputSize())) {
      gradients[0] = b.create<nn::AvgPoolGradientOp>(x, g, *windows, *windows, ones, zeros, zeros, /*ceil_mode=*/false,
                                                     /*count_include_pad=*/false);
      return success();
    }
    if (failed(refuseDynamic(op, x)))
      return failure();
    for (auto [i, out] : llvm::enumerate(op.getOutputSize())) {
      int64_t in = x.getDimSize(2 + i);
      if (in == out)
        continue;
      SmallVector<double> shares(in * out, 0.0);
      for (int64_t position = 0; position < out; ++position) {
        Window window = adaptiveWindow(position, in, out);
        for (int64_t place = window.begin; place < window.end; ++place)
          shares[position * in + place] = 1.0 / static_cast<double>(window.size());
      }
      g = b.contractAlong(g, 2 + i, matrix(b, out, in, shares, x.getElementType()));
    }
    gradients[0] = g;
    return success();
  }
};

/// Windows of different sizes are made equal: what they read is gathered side by side, short windows with their last element again,
/// which never is the first of the largest.
struct AdaptiveMaxPoolGradient
    : nn::DifferentiableOpInterface::ExternalModel<AdaptiveMaxPoolGradient, nn::AdaptiveMaxPoolOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::AdaptiveMaxPoolOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    RankedTensorType type = b.typeOf(op.getX());
    if (failed(refuseDynamic(op, type)))
      return failure();
    Type element = type.getElementType(), wide = element.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : element;
    auto cast = [&](Value value, Type to) {
      return b.typeOf(value).getElementType() == to ? value : b.create<nn::CastOp>(value, TypeAttr::get(to));
    };
    Value x = op.getX(), g = resultGradients[0];
    SmallVector<int64_t> windows;
    struct Gathered {
      int64_t dim;
      Value indices;
      RankedTensorType from;
    };
    SmallVector<Gathered> gathered;
    for (auto [i, out] : llvm::enumerate(op.getOutputSize())) {
      int64_t in = type.getDimSize(2 + i), dim = 2 + i;
      int64_t largest = 0;
      for (int64_t position = 0; position < out; ++position)
        largest = std::max(largest, adaptiveWindow(position, in, out).size());
      windows.push_back(largest);
      if (in == out * largest)
        continue;
      SmallVector<int64_t> places;
      for (int64_t position = 0; position < out; ++position) {
        Window window = adaptiveWindow(position, in, out);
        for (int64_t tap = 0; tap < largest; ++tap)
          places.push_back(std::min(window.begin + tap, window.end - 1));
      }
      auto indexType = RankedTensorType::get({out * largest}, b.getI64Type());
      Value indices = nn::ConstantOp::create(b, DenseElementsAttr::get(indexType, ArrayRef<int64_t>(places)));
      gathered.push_back({dim, indices, b.typeOf(x)});
      x = b.create<nn::GatherOp>(x, indices, b.getI64IntegerAttr(dim));
    }
    SmallVector<int64_t> ones(windows.size(), 1), zeros(windows.size(), 0);
    Value gradient = b.create<nn::MaxPoolGradientOp>(x, g, windows, windows, ones, zeros, zeros, /*ceil_mode=*/false);
    if (!gathered.empty())
      gradient = cast(gradient, wide);
    for (Gathered &part : llvm::reverse(gathered))
      gradient = b.create<nn::GatherGradientOp>(part.from.clone(wide), part.indices, gradient, b.getI64IntegerAttr(part.dim));
    gradients[0] = cast(gradient, element);
    return success();
  }
};

} // namespace

void passes::attachResamplingGradients(MLIRContext &context) {
  nn::ResizeOp::attachInterface<ResizeGradient>(context);
  nn::AdaptiveAvgPoolOp::attachInterface<AdaptiveAvgPoolGradient>(context);
  nn::AdaptiveMaxPoolOp::attachInterface<AdaptiveMaxPoolGradient>(context);
}
