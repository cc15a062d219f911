// Gradients of movements: the movement backwards. What a movement reads more than once gets the sum, what it leaves out zero.

#include "ir/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

struct ReshapeGradient : nn::DifferentiableOpInterface::ExternalModel<ReshapeGradient, nn::ReshapeOp> {
  LogicalResult buildGradients(Operation *op, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    TensorBuilder b(builder, op->getLoc());
    gradients[0] = b.reshape(resultGradients[0], b.typeOf(op->getOperand(0)));
    return success();
  }
};

struct ExpandGradient : nn::DifferentiableOpInterface::ExternalModel<ExpandGradient, nn::ExpandOp> {
  LogicalResult buildGradients(Operation *op, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    TensorBuilder b(builder, op->getLoc());
    gradients[0] = b.sumTo(resultGradients[0], b.typeOf(op->getOperand(0)));
    return success();
  }
};

struct TransposeGradient : nn::DifferentiableOpInterface::ExternalModel<TransposeGradient, nn::TransposeOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::TransposeOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    SmallVector<int64_t> inverse(op.getPermutation().size());
    for (auto [to, from] : llvm::enumerate(op.getPermutation()))
      inverse[from] = to;
    gradients[0] = b.transpose(resultGradients[0], inverse);
    return success();
  }
};

struct SliceGradient : nn::DifferentiableOpInterface::ExternalModel<SliceGradient, nn::SliceOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::SliceOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    RankedTensorType x = b.typeOf(op.getX());
    Value g = resultGradients[0];
    int64_t rank = x.getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t start = op.getStarts()[dim], size = op.getSizes()[dim], step = op.getSteps()[dim];
      if (size == -1 && step == 1)
        continue;
      if (x.isDynamicDim(dim) && size != -1) {
        g = b.contractAlong(g, dim, chosen(b, op, dim, b.typeOf(g).getElementType()));
        continue;
      }
      if (step < 0) {
        g = reversed(b, g, dim);
        if (size == -1)
          continue;
        if (start < 0)
          start += x.getDimSize(dim);
        start += (size - 1) * step;
        step = -step;
      } else if (start < 0) {
        start += x.getDimSize(dim);
      }
      if (size > 1 && step > 1)
        g = spaced(b, g, dim, step);
      int64_t reach = size == 0 ? 0 : (size - 1) * step + 1;
      SmallVector<int64_t> before(rank, 0), behind(rank, 0);
      before[dim] = size == 0 ? 0 : start;
      behind[dim] = x.getDimSize(dim) - before[dim] - reach;
      g = pad(b, g, before, behind);
    }
    gradients[0] = g;
    return success();
  }

  /// What a slice takes of a dynamic dimension, as a matrix: 1 at [i, t] where its position i is element t. Where the dimension
  /// turns out too short several positions are its first or last element.
  static Value chosen(TensorBuilder &b, nn::SliceOp op, int64_t dim, Type element) {
    int64_t start = op.getStarts()[dim], size = op.getSizes()[dim], step = op.getSteps()[dim];
    Type number = element.isF64() ? element : Type(b.getF32Type());
    SmallVector<Attribute> places;
    for (int64_t i = 0; i < size; ++i)
      places.push_back(b.getFloatAttr(number, static_cast<double>(start + i * step)));
    Value rows = nn::ConstantOp::create(b, DenseElementsAttr::get(RankedTensorType::get({size, 1}, number), places));
    nn::Dim extent = nn::dimOf(b.typeOf(op.getX()), dim);
    nn::Dim one = nn::constantDim(b.getContext(), 1);
    Value columns = b.reshape(b.positions(rows, extent), {one, extent});
    Value last = b.create<nn::ReduceMaxOp>(columns, ArrayRef<int64_t>{1}, /*keepdims=*/true);
    if (start < 0)
      rows = b.add(rows, b.add(last, b.scalar(last, 1.0)));
    rows = b.create<nn::MinOp>(b.create<nn::MaxOp>(rows, b.scalar(rows, 0.0)), last);
    return b.create<nn::CastOp>(b.create<nn::EqualOp>(rows, columns), TypeAttr::get(element));
  }

  static Value pad(TensorBuilder &b, Value x, ArrayRef<int64_t> before, ArrayRef<int64_t> behind) {
    return b.create<nn::PadOp>(x, before, behind, nn::PadMode::Constant, llvm::APFloat(0.0));
  }

  static Value reversed(TensorBuilder &b, Value x, int64_t dim) {
    SmallVector<int64_t> starts(b.rankOf(x), 0), sizes(b.rankOf(x), -1), steps(b.rankOf(x), 1);
    starts[dim] = steps[dim] = -1;
    return b.create<nn::SliceOp>(x, starts, sizes, steps);
  }

  /// step - 1 zeros between neighbours along `dim`: [n] to [(n - 1) * step + 1].
  static Value spaced(TensorBuilder &b, Value x, int64_t dim, int64_t step) {
    nn::Shape shape = nn::shapeOf(x.getType());
    nn::Shape split = shape;
    split.insert(split.begin() + dim + 1, nn::constantDim(b.getContext(), 1));
    SmallVector<int64_t> before(split.size(), 0), behind(split.size(), 0);
    behind[dim + 1] = step - 1;
    Value padded = pad(b, b.reshape(x, split), before, behind);
    int64_t size = b.typeOf(x).getDimSize(dim);
    shape[dim] = nn::constantDim(b.getContext(), size * step);
    SmallVector<int64_t> starts(shape.size(), 0), sizes(shape.size(), -1), steps(shape.size(), 1);
    sizes[dim] = (size - 1) * step + 1;
    return b.create<nn::SliceOp>(b.reshape(padded, shape), starts, sizes, steps);
  }
};

struct ConcatGradient : nn::DifferentiableOpInterface::ExternalModel<ConcatGradient, nn::ConcatOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::ConcatOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    int64_t axis = op.getAxis(), begin = 0, rank = b.rankOf(op.getResult());
    for (auto [index, input] : llvm::enumerate(op.getInputs())) {
      if (b.typeOf(input).isDynamicDim(axis))
        return op.emitOpError("joins along a dynamic dimension, for which a concatenation has no gradient");
      int64_t size = b.typeOf(input).getDimSize(axis);
      SmallVector<int64_t> starts(rank, 0), sizes(rank, -1), steps(rank, 1);
      starts[axis] = begin;
      sizes[axis] = size;
      begin += size;
      if (isWanted[index])
        gradients[index] = b.create<nn::SliceOp>(resultGradients[0], starts, sizes, steps);
    }
    return success();
  }
};

struct PadGradient : nn::DifferentiableOpInterface::ExternalModel<PadGradient, nn::PadOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::PadOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    RankedTensorType x = b.typeOf(op.getX());
    Value g = resultGradients[0];
    for (int64_t dim = 0; dim < x.getRank(); ++dim) {
      int64_t begin = op.getBegin()[dim], end = op.getEnd()[dim];
      if (begin == 0 && end == 0)
        continue;
      if (x.isDynamicDim(dim))
        return op.emitOpError("pads a dynamic dimension, for which it has no gradient");
      g = withoutBorder(b, g, dim, begin, end, x.getDimSize(dim), op.getMode());
    }
    gradients[0] = g;
    return success();
  }

  /// The inside along `dim`, with the border added to the elements that it repeats.
  static Value withoutBorder(TensorBuilder &b, Value g, int64_t dim, int64_t begin, int64_t end, int64_t size,
                             nn::PadMode mode) {
    auto part = [&](int64_t start, int64_t count) {
      SmallVector<int64_t> starts(b.rankOf(g), 0), sizes(b.rankOf(g), -1), steps(b.rankOf(g), 1);
      starts[dim] = start;
      sizes[dim] = count;
      return b.create<nn::SliceOp>(g, starts, sizes, steps);
    };
    auto placed = [&](Value x, int64_t at) {
      SmallVector<int64_t> before(b.rankOf(x), 0), behind(b.rankOf(x), 0);
      before[dim] = at;
      behind[dim] = size - at - b.typeOf(x).getDimSize(dim);
      return SliceGradient::pad(b, x, before, behind);
    };
    Value inside = part(begin, size);
    if (mode == nn::PadMode::Constant)
      return inside;
    auto border = [&](int64_t start, int64_t count, bool isFront) {
      Value x = part(start, count);
      switch (mode) {
      case nn::PadMode::Reflect:
        return placed(SliceGradient::reversed(b, x, dim), isFront ? 1 : size - 1 - count);
      case nn::PadMode::Replicate:
        return placed(b.sumKept(x, {dim}), isFront ? 0 : size - 1);
      default:
        return placed(x, isFront ? size - count : 0);
      }
    };
    if (begin > 0)
      inside = b.add(inside, border(0, begin, true));
    if (end > 0)
      inside = b.add(inside, border(begin + size, end, false));
    return inside;
  }
};

struct GatherGradient : nn::DifferentiableOpInterface::ExternalModel<GatherGradient, nn::GatherOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::GatherOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    RankedTensorType type = b.typeOf(op.getX());
    // Many numbers may be added up, so half precision is widened.
    Type element = type.getElementType(), wide = element.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : element;
    auto cast = [&](Value x, Type to) {
      return b.typeOf(x).getElementType() == to ? x : b.create<nn::CastOp>(x, TypeAttr::get(to));
    };
    Value sum = b.create<nn::GatherGradientOp>(type.clone(wide), op.getIndices(), cast(resultGradients[0], wide),
                                               b.getI64IntegerAttr(op.getAxis()));
    gradients[0] = cast(sum, element);
    return success();
  }
};

} // namespace

void passes::attachMovementGradients(MLIRContext &context) {
  nn::ReshapeOp::attachInterface<ReshapeGradient>(context);
  nn::ExpandOp::attachInterface<ExpandGradient>(context);
  nn::TransposeOp::attachInterface<TransposeGradient>(context);
  nn::SliceOp::attachInterface<SliceGradient>(context);
  nn::ConcatOp::attachInterface<ConcatGradient>(context);
  nn::PadOp::attachInterface<PadGradient>(context);
  nn::GatherOp::attachInterface<GatherGradient>(context);
}
