// Gradients of pooling by windows.

#include "ir/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

struct MaxPoolGradient : nn::DifferentiableOpInterface::ExternalModel<MaxPoolGradient, nn::MaxPoolOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::MaxPoolOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    gradients[0] = b.create<nn::MaxPoolGradientOp>(op.getX(), resultGradients[0], op.getKernel(), op.getStrides(),
                                                   op.getDilations(), op.getPadsBegin(), op.getPadsEnd(),
                                                   op.getCeilMode());
    return success();
  }
};

struct AvgPoolGradient : nn::DifferentiableOpInterface::ExternalModel<AvgPoolGradient, nn::AvgPoolOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::AvgPoolOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    gradients[0] = b.create<nn::AvgPoolGradientOp>(b.typeOf(op.getX()), resultGradients[0], op.getKernel(),
                                                   op.getStrides(), op.getDilations(), op.getPadsBegin(),
                                                   op.getPadsEnd(), op.getCeilMode(), op.getCountIncludePad());
    return success();
  }
};

} // namespace

void passes::attachWindowGradients(MLIRContext &context) {
  nn::MaxPoolOp::attachInterface<MaxPoolGradient>(context);
  nn::AvgPoolOp::attachInterface<AvgPoolGradient>(context);
}
