// Gradients of matrix products and convolutions: products and convolutions again, so that they run in the same kernels.

#include "ir/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

Value matmul(TensorBuilder &b, Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
  return b.create<nn::MatmulOp>(lhs, rhs, Value(), transposeLhs, transposeRhs);
}

struct MatmulGradient : nn::DifferentiableOpInterface::ExternalModel<MatmulGradient, nn::MatmulOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::MatmulOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value lhs = op.getLhs(), rhs = op.getRhs(), g = resultGradients[0];
    RankedTensorType lhsType = b.typeOf(lhs), rhsType = b.typeOf(rhs), gType = b.typeOf(g);
    if (op.getBias() && isWanted[2])
      gradients[2] = b.sum(g, dimsBetween(0, gType.getRank() - 1));

    // A product with one matrix for all batches is one product of all rows: its gradient needs no sum over batches.
    if (rhsType.getRank() == 2 && lhsType.getRank() > 2 && !op.getTransposeLhs()) {
      auto asRows = [&](Value x) {
        nn::Shape shape = nn::shapeOf(x.getType());
        nn::Dim rows = nn::product(ArrayRef<nn::Dim>(shape).drop_back(), b.getContext());
        return b.reshape(x, {rows, shape.back()});
      };
      lhs = asRows(lhs);
      g = asRows(g);
    }
    if (isWanted[0]) {
      Value gradient = op.getTransposeLhs() ? matmul(b, rhs, g, op.getTransposeRhs(), true)
                                            : matmul(b, g, rhs, false, !op.getTransposeRhs());
      bool isFlat = lhs != op.getLhs();
      gradients[0] = isFlat ? b.reshape(gradient, lhsType) : b.sumTo(gradient, lhsType);
    }
    if (isWanted[1]) {
      Value gradient = op.getTransposeRhs() ? matmul(b, g, lhs, true, op.getTransposeLhs())
                                            : matmul(b, lhs, g, !op.getTransposeLhs(), false);
      gradients[1] = b.sumTo(gradient, rhsType);
    }
    return success();
  }
};

struct ConvGradient : nn::DifferentiableOpInterface::ExternalModel<ConvGradient, nn::ConvOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::ConvOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value g = resultGradients[0];
    SmallVector<int64_t> notChannels = dimsBetween(0, b.rankOf(g));
    notChannels.erase(notChannels.begin() + 1);
    if (op.getBias() && isWanted[2])
      gradients[2] = b.sum(g, notChannels);
    for (int64_t dim = 2; dim < b.rankOf(g); ++dim)
      if (op.inputType().isDynamicDim(dim))
        return op.emitOpError("has a dynamic spatial dimension, for which a convolution has no gradient");
    if (isWanted[0]) {
      SmallVector<int64_t> outputPadding;
      for (unsigned i = 0; i < op.spatialRank(); ++i) {
        int64_t reach = op.getDilations()[i] * (op.weightType().getDimSize(2 + i) - 1) + 1;
        int64_t padded = op.inputType().getDimSize(2 + i) + op.getPadsBegin()[i] + op.getPadsEnd()[i];
        outputPadding.push_back((padded - reach) % op.getStrides()[i]);
      }
      gradients[0] = b.create<nn::ConvTransposeOp>(g, op.getWeight(), Value(), op.getStrides(), op.getDilations(),
                                                   op.getPadsBegin(), op.getPadsEnd(), outputPadding, op.getGroups());
    }
    if (isWanted[1])
      gradients[1] = b.create<nn::ConvWeightGradientOp>(op.weightType(), op.getX(), g, op.getStrides(), op.getDilations(),
                                                        op.getPadsBegin(), op.getPadsEnd(), op.getGroups());
    return success();
  }
};

struct ConvTransposeGradient
    : nn::DifferentiableOpInterface::ExternalModel<ConvTransposeGradient, nn::ConvTransposeOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::ConvTransposeOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Value g = resultGradients[0];
    RankedTensorType x = b.typeOf(op.getX()), weight = b.typeOf(op.getWeight());
    SmallVector<int64_t> notChannels = dimsBetween(0, b.rankOf(g));
    notChannels.erase(notChannels.begin() + 1);
    if (op.getBias() && isWanted[2])
      gradients[2] = b.sum(g, notChannels);
    for (int64_t dim = 2; dim < b.rankOf(g); ++dim)
      if (x.isDynamicDim(dim))
        return op.emitOpError("has a dynamic spatial dimension, for which it has no gradient");
    if (isWanted[0])
      gradients[0] = b.create<nn::ConvOp>(g, op.getWeight(), Value(), op.getStrides(), op.getDilations(),
                                          op.getPadsBegin(), op.getPadsEnd(), op.getGroups());
    // As the convolution from g to x, whose weight it is.
    if (isWanted[1])
      gradients[1] = b.create<nn::ConvWeightGradientOp>(weight, g, op.getX(), op.getStrides(), op.getDilations(),
                                                        op.getPadsBegin(), op.getPadsEnd(), op.getGroups());
    return success();
  }
};

} // namespace

void passes::attachContractionGradients(MLIRContext &context) {
  nn::MatmulOp::attachInterface<MatmulGradient>(context);
  nn::ConvOp::attachInterface<ConvGradient>(context);
  nn::ConvTransposeOp::attachInterface<ConvTransposeGradient>(context);
}
