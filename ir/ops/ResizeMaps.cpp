// The index maps of nn.resize and its gradient. Positions are exact fractions of integers, so that no rounding of the ratio moves one
// over a border, and the gradient finds the same neighbours as the op.

#include "ir/NN.h"
#include "ir/ops/IndexMath.h"
#include "ir/ops/InferenceHelpers.h"
#include "ir/ops/ScalarFormula.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

//===----------------------------------------------------------------------===//
// nn.resize
//===----------------------------------------------------------------------===//

namespace {

struct Fraction {
  Value numerator, denominator;
};

/// The neighbours that linear interpolation reads along one dimension; the upper one weighs rest / denominator.
struct Neighbours {
  Value lower, upper, rest, denominator;
};

} // namespace

static Fraction sourcePosition(IndexMath &math, ResizeCoordinates coordinates, Value index,
                               Value in, Value out) {
  switch (coordinates) {
  case ResizeCoordinates::HalfPixel:
    // ((2 i + 1) in - out) / (2 out)
    return {math.sub(math.mul(math.add(math.mul(index, 2), 1), in), out), math.mul(out, 2)};
  case ResizeCoordinates::AlignCorners:
    // A result of extent 1 reads position 0, as its index is.
    return {math.mul(index, math.add(in, -1)), math.max(math.add(out, -1), math.constant(1))};
  case ResizeCoordinates::Asymmetric:
    return {math.mul(index, in), out};
  }
  llvm_unreachable("every coordinate rule has its position");
}

/// The nearest element to a position: halves go up for half_pixel, down for align_corners;
/// asymmetric takes the one below.
static Value nearest(IndexMath &math, ResizeCoordinates coordinates, Fraction position) {
  switch (coordinates) {
  case ResizeCoordinates::HalfPixel:
    // floor(p + 1/2) = (2 n + d) / (2 d); p is at least -1/2, so the numerator is not negative.
    return math.div(math.add(math.mul(position.numerator, 2), position.denominator),
                    math.mul(position.denominator, 2));
  case ResizeCoordinates::AlignCorners:
    // ceil(p - 1/2) = floor((2 n + d - 1) / (2 d)) for integers n and d.
    return math.div(math.add(math.add(math.mul(position.numerator, 2), position.denominator), -1),
                    math.mul(position.denominator, 2));
  case ResizeCoordinates::Asymmetric:
    return math.div(position.numerator, position.denominator);
  }
  llvm_unreachable("every coordinate rule has its nearest element");
}

static Neighbours neighboursOf(IndexMath &math, Fraction position, Value in) {
  Value numerator = math.max(position.numerator, math.constant(0));
  Value lower = math.min(math.div(numerator, position.denominator), math.add(in, -1));
  Value rest = math.sub(numerator, math.mul(lower, position.denominator));
  return {lower, math.min(math.add(lower, 1), math.add(in, -1)), rest, position.denominator};
}

Value ResizeOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  Shape from = shapeOf(getX().getType()), to = shapeOf(getType());
  SmallVector<Value> indices(access.indices);
  SmallVector<std::pair<unsigned, Neighbours>> interpolated;
  for (unsigned dim = 2; dim < from.size(); ++dim) {
    if (from[dim] == to[dim])
      continue;
    Value in = access.extent(from[dim]);
    Fraction position =
        sourcePosition(math, getCoordinates(), access.indices[dim], in, access.extent(to[dim]));
    if (getMode() == ResizeMode::Nearest)
      indices[dim] = math.clamp(nearest(math, getCoordinates(), position), in);
    else
      interpolated.push_back({dim, neighboursOf(math, position, in)});
  }

  // Interpolates along the dimensions one after another: 2^k loads for k dimensions.
  ScalarFormula f(access.builder, access.loc);
  auto interpolate = [&](auto &self, unsigned number) -> Value {
    if (number == interpolated.size())
      return access.load(0, indices);
    auto &[dim, neighbours] = interpolated[number];
    indices[dim] = neighbours.lower;
    Value lower = self(self, number + 1);
    indices[dim] = neighbours.upper;
    Value upper = self(self, number + 1);
    Type element = getElementTypeOrSelf(lower.getType());
    Value weight = f.div(math.toFloat(neighbours.rest, element), math.toFloat(neighbours.denominator, element));
    weight = math.splatLike(weight, lower);
    return f.add(lower, f.mul(weight, f.sub(upper, lower)));
  };
  return interpolate(interpolate, 0);
}

LaneSource ResizeOp::laneSource(unsigned, unsigned resultDim) {
  Shape from = shapeOf(getX().getType()), to = shapeOf(getType());
  return from[resultDim] == to[resultDim] ? LaneSource::along(resultDim) : LaneSource::scattered();
}

//===----------------------------------------------------------------------===//
// nn.resize_gradient
//===----------------------------------------------------------------------===//

/// The first position of the resized dimension that may read element `index`: for nearest the first whose nearest element it is,
/// for linear the first behind the place of element index - 1. Within the dimension.
static Value firstReader(IndexMath &math, ResizeMode mode, ResizeCoordinates coordinates, Value index, Value in, Value out) {
  bool isNearest = mode == ResizeMode::Nearest;
  Value numerator, denominator;
  switch (coordinates) {
  case ResizeCoordinates::HalfPixel:
    // Nearest: ceil((2 index out - in) / (2 in)). Linear: floor(((2 index - 1) out - in) / (2 in)) + 1.
    denominator = math.mul(in, 2);
    numerator = isNearest ? math.add(math.add(math.mul(math.mul(index, 2), out), in), -1)
                          : math.add(math.mul(math.add(math.mul(index, 2), -1), out), in);
    break;
  case ResizeCoordinates::AlignCorners: {
    // Nearest: floor((2 index - 1) (out - 1) / (2 (in - 1))) + 1. Linear: floor((index - 1) (out - 1) / (in - 1)) + 1.
    Value step = math.max(math.add(in, -1), math.constant(1)), last = math.add(out, -1);
    denominator = isNearest ? math.mul(step, 2) : step;
    Value before = isNearest ? math.add(math.mul(index, 2), -1) : math.add(index, -1);
    numerator = math.add(math.mul(before, last), denominator);
    break;
  }
  case ResizeCoordinates::Asymmetric:
    // Nearest: ceil(index out / in). Linear: floor((index - 1) out / in) + 1.
    denominator = in;
    numerator = isNearest ? math.add(math.add(math.mul(index, out), in), -1)
                          : math.add(math.mul(math.add(index, -1), out), in);
    break;
  }
  Value first = math.div(math.max(numerator, math.constant(0)), denominator);
  return math.min(first, math.add(out, -1));
}

std::optional<int64_t> ResizeGradientOp::tapsOf(Dim in, Dim out, ResizeMode mode, ResizeCoordinates coordinates) {
  if (in == out)
    return 1;
  std::optional<int64_t> inExtent = constantOf(in), outExtent = constantOf(out);
  int64_t span = mode == ResizeMode::Linear ? 2 : 1;
  MLIRContext *context = in.getContext();
  if (inExtent && outExtent) {
    int64_t numerator = *outExtent, denominator = *inExtent;
    if (coordinates == ResizeCoordinates::AlignCorners) {
      // All positions read the only element.
      if (*inExtent == 1)
        return *outExtent;
      --numerator, --denominator;
    }
    // The readers lie in a span this long, of whose ends at most one belongs to it.
    CheckedSize positions = CheckedSize(numerator) * span;
    if (!positions.valid())
      return std::nullopt;
    return std::max<int64_t>(llvm::divideCeil(*positions.get(), denominator), 1);
  }
  // One extent a multiple of the other, whatever the named dims. From corner to corner there
  // are up to (2 ratio - 1) times as many steps, for an extent of 2.
  if (Dim factor = quotient({out}, {in}, context))
    if (std::optional<int64_t> ratio = constantOf(factor)) {
      CheckedSize taps = (coordinates == ResizeCoordinates::AlignCorners ? CheckedSize(*ratio) * 2 - 1 : CheckedSize(*ratio)) * span;
      return taps.valid() ? taps.get() : std::nullopt;
    }
  if (Dim factor = quotient({in}, {out}, context))
    if (constantOf(factor))
      return span;
  return std::nullopt;
}

Value ResizeGradientOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  ScalarFormula f(access.builder, access.loc);
  Shape small = shapeOf(getType()), large = shapeOf(getG().getType());
  bool isNearest = getMode() == ResizeMode::Nearest;
  SmallVector<unsigned> dims;
  for (unsigned dim = 2; dim < small.size(); ++dim)
    if (small[dim] != large[dim])
      dims.push_back(dim);

  SmallVector<Value> indices(access.indices);
  // The sum over the readers along dims[number] and all later ones. A reader outside, or of another element, weighs 0.
  auto sumOver = [&](auto &self, unsigned number) -> Value {
    if (number == dims.size())
      return access.load(0, indices);
    unsigned dim = dims[number];
    Value index = access.indices[dim], in = access.extent(small[dim]), out = access.extent(large[dim]);
    Value first = firstReader(math, getMode(), getCoordinates(), index, in, out);
    int64_t taps = *tapsOf(small[dim], large[dim], getMode(), getCoordinates());
    Value sum;
    for (int64_t tap = 0; tap < taps; ++tap) {
      Value reader = math.add(first, tap), isReader = math.less(reader, out);
      Value place = math.min(reader, math.add(out, -1));
      Fraction position = sourcePosition(math, getCoordinates(), place, in, out);
      indices[dim] = place;
      Value part = self(self, number + 1), zero = f.constant(part, 0.0);
      if (isNearest) {
        isReader = math.both(isReader, math.isEqual(math.clamp(nearest(math, getCoordinates(), position), in), index));
        part = f.select(isReader, part, zero);
      } else {
        Neighbours neighbours = neighboursOf(math, position, in);
        Type element = getElementTypeOrSelf(part.getType());
        Value upper = f.div(math.toFloat(neighbours.rest, element), math.toFloat(neighbours.denominator, element));
        Value none = f.constant(element, 0.0), lower = f.sub(f.constant(element, 1.0), upper);
        Value weight = f.add(math.select(math.isEqual(neighbours.lower, index), lower, none),
                             math.select(math.isEqual(neighbours.upper, index), upper, none));
        weight = math.select(isReader, weight, none);
        part = f.mul(math.splatLike(weight, part), part);
      }
      sum = sum ? f.add(sum, part) : part;
    }
    return sum;
  };
  return sumOver(sumOver, 0);
}

LaneSource ResizeGradientOp::laneSource(unsigned, unsigned resultDim) {
  Shape small = shapeOf(getType()), large = shapeOf(getG().getType());
  return small[resultDim] == large[resultDim] ? LaneSource::along(resultDim) : LaneSource::scattered();
}

LogicalResult ResizeGradientOp::verify() {
  // The resize that it belongs to, on an operand that nothing computes.
  Block block;
  OpBuilder builder(getContext());
  builder.setInsertionPointToEnd(&block);
  Type small = logicalType(getType()), large = logicalType(getG().getType());
  Value x = UnrealizedConversionCastOp::create(builder, getLoc(), small, ValueRange()).getResult(0);
  auto resize = ResizeOp::create(builder, getLoc(), large, x, getMode(), getCoordinates());
  if (std::optional<std::string> why = whyInvalid(resize))
    return emitOpError("resize_gradient_c1: there is no such resize of ") << describe(small) << " to " << describe(large) << ": " << *why;
  Shape from = shapeOf(small), to = shapeOf(large);
  for (unsigned dim = 2; dim < from.size(); ++dim) {
    std::optional<int64_t> taps = tapsOf(from[dim], to[dim], getMode(), getCoordinates());
    if (!taps || *taps > kMostTaps)
      return emitOpError("resize_gradient_c2: along dimension ")
             << dim << " at most " << kMostTaps << " positions may read an element, found "
             << (taps ? std::to_string(*taps) : std::string("a number that depends on named dims"));
  }
  return success();
}
