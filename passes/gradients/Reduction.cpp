// Gradients of reductions. The result's gradient is spread over the elements that were reduced: to all of them, or to those that
// are the result.

#include "ir/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

/// A reduction's result, or its gradient, with the reduced dimensions at extent 1.
template <typename Op> Value kept(TensorBuilder &b, Op op, Value result) {
  nn::Shape shape = nn::shapeOf(op.getX().getType());
  for (int64_t axis : op.getAxes())
    shape[axis] = nn::constantDim(b.getContext(), 1);
  return b.reshape(result, shape);
}

template <typename Op> struct SpreadGradient : nn::DifferentiableOpInterface::ExternalModel<SpreadGradient<Op>, Op> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool>, MutableArrayRef<Value> gradients) const {
    auto op = cast<Op>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value g = kept(b, op, resultGradients[0]);
    if (isa<nn::ReduceMeanOp>(operation))
      g = b.div(g, b.count(op.getX(), op.getAxes()));
    gradients[0] = b.expand(g, b.typeOf(op.getX()));
    return success();
  }
};

/// Equal extremes share the gradient evenly, as in PyTorch's amax and amin.
template <typename Op>
struct ExtremeGradient : nn::DifferentiableOpInterface::ExternalModel<ExtremeGradient<Op>, Op> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool>, MutableArrayRef<Value> gradients) const {
    auto op = cast<Op>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value x = op.getX(), extreme = kept(b, op, op.getResult());
    Value isExtreme = b.create<nn::EqualOp>(x, extreme);
    Value ones = b.create<nn::CastOp>(isExtreme, TypeAttr::get(b.typeOf(x).getElementType()));
    Value each = b.div(kept(b, op, resultGradients[0]), b.sumKept(ones, op.getAxes()));
    gradients[0] = b.mul(ones, each);
    return success();
  }
};

/// The product of all others: result / x, but where x is zero that of the others is taken by itself.
struct ProductGradient : nn::DifferentiableOpInterface::ExternalModel<ProductGradient, nn::ReduceProdOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool>, MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::ReduceProdOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value x = op.getX(), g = kept(b, op, resultGradients[0]);
    Value zero = b.scalar(x, 0.0), one = b.scalar(x, 1.0);
    Value isZero = b.create<nn::EqualOp>(x, zero);
    Value zeros = b.sumKept(b.create<nn::CastOp>(isZero, TypeAttr::get(b.typeOf(x).getElementType())), op.getAxes());
    // The product of what is not zero; with one zero it is that element's gradient, with two there is none.
    Value withoutZeros = b.create<nn::WhereOp>(isZero, one, x);
    Value product = b.create<nn::ReduceProdOp>(withoutZeros, op.getAxes(), /*keepdims=*/true);
    Value none = b.create<nn::EqualOp>(zeros, zero), single = b.create<nn::EqualOp>(zeros, one);
    Value atOthers = b.create<nn::WhereOp>(none, b.div(product, withoutZeros), zero);
    Value atZero = b.create<nn::WhereOp>(single, product, zero);
    gradients[0] = b.mul(g, b.create<nn::WhereOp>(isZero, atZero, atOthers));
    return success();
  }
};

} // namespace

void passes::attachReductionGradients(MLIRContext &context) {
  nn::ReduceSumOp::attachInterface<SpreadGradient<nn::ReduceSumOp>>(context);
  nn::ReduceMeanOp::attachInterface<SpreadGradient<nn::ReduceMeanOp>>(context);
  nn::ReduceMaxOp::attachInterface<ExtremeGradient<nn::ReduceMaxOp>>(context);
  nn::ReduceMinOp::attachInterface<ExtremeGradient<nn::ReduceMinOp>>(context);
  nn::ReduceProdOp::attachInterface<ProductGradient>(context);
}
