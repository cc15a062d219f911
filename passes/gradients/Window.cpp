// Gradients of pooling.

#include "passes/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

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

bool isGlobal(ArrayRef<int64_t> outputSize) {
  return llvm::all_of(outputSize, [](int64_t size) { return size == 1; });
}

struct AdaptiveAvgPoolGradient
    : nn::DifferentiableOpInterface::ExternalModel<AdaptiveAvgPoolGradient, nn::AdaptiveAvgPoolOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::AdaptiveAvgPoolOp>(operation);
    if (!isGlobal(op.getOutputSize()))
      return op.emitOpError("has a gradient only where the output size is 1");
    TensorBuilder b(builder, op.getLoc());
    RankedTensorType x = b.typeOf(op.getX());
    Value each = b.div(resultGradients[0], b.count(op.getX(), dimsBetween(2, x.getRank())));
    gradients[0] = b.expand(each, x);
    return success();
  }
};

} // namespace

void passes::attachWindowGradients(MLIRContext &context) {
  nn::MaxPoolOp::attachInterface<MaxPoolGradient>(context);
  nn::AvgPoolOp::attachInterface<AvgPoolGradient>(context);
  nn::AdaptiveAvgPoolOp::attachInterface<AdaptiveAvgPoolGradient>(context);
}
