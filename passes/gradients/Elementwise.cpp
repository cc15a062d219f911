// Gradients of elementwise ops. Sums and products have rules of their own, which need no formula at run time or one that folds.
// Where the derivative follows from the result it is made from it: the operand then need not be kept for the way back, and the op
// fuses into the kernel that made its operand. Every other op gets an nn.derivative, whose formula comes from the op's own.

#include "ir/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

/// The gradient of operand `wrt` in the shape of the result: before the sum over what was broadcast.
Value unsummed(Operation *op, unsigned wrt, Value g, TensorBuilder &b) {
  if (isa<nn::AddOp>(op))
    return g;
  if (isa<nn::SubOp>(op))
    return wrt == 0 ? g : b.neg(g);
  if (isa<nn::NegOp>(op))
    return b.neg(g);
  if (isa<nn::MulOp>(op))
    return b.mul(g, op->getOperand(1 - wrt));
  if (isa<nn::CastOp>(op))
    return b.create<nn::CastOp>(g, TypeAttr::get(TensorBuilder::typeOf(op->getOperand(0)).getElementType()));
  // Random decisions are not differentiated, and do not exist at inference.
  if (isa<nn::DropoutOp>(op))
    return g;
  Value y = op->getResult(0);
  if (isa<nn::SigmoidOp>(op))
    return b.mul(g, b.mul(y, b.sub(b.scalar(y, 1.0), y)));
  if (isa<nn::TanhOp>(op))
    return b.mul(g, b.sub(b.scalar(y, 1.0), b.create<nn::SquareOp>(y)));
  if (isa<nn::ExpOp>(op))
    return b.mul(g, y);
  SmallVector<Value> inputs(op->getOperands());
  // The result has the operand's sign, and the sign decides.
  auto leaky = dyn_cast<nn::LeakyReluOp>(op);
  if (isa<nn::ReluOp>(op) || (leaky && leaky.getAlpha().convertToDouble() > 0))
    inputs = {y};
  inputs.push_back(g);
  auto attributes = dyn_cast_if_present<DictionaryAttr>(op->getPropertiesAsAttribute());
  return b.create<nn::DerivativeOp>(inputs, b.getStringAttr(op->getName().stripDialect()), b.getI64IntegerAttr(wrt),
                                    attributes ? attributes : b.getDictionaryAttr({}));
}

template <typename Op>
struct ElementwiseGradient : nn::DifferentiableOpInterface::ExternalModel<ElementwiseGradient<Op>, Op> {
  LogicalResult buildGradients(Operation *op, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> isWanted,
                               MutableArrayRef<Value> gradients) const {
    TensorBuilder b(builder, op->getLoc());
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (isWanted[index])
        gradients[index] = b.sumTo(unsummed(op, index, resultGradients[0], b), TensorBuilder::typeOf(operand));
    return success();
  }
};

/// Ops that are constant between their steps.
template <typename Op> struct FlatGradient : nn::DifferentiableOpInterface::ExternalModel<FlatGradient<Op>, Op> {
  LogicalResult buildGradients(Operation *, OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) const {
    return success();
  }
};

template <typename... Ops> void attachElementwise(MLIRContext &context) {
  (Ops::template attachInterface<ElementwiseGradient<Ops>>(context), ...);
}
template <typename... Ops> void attachFlat(MLIRContext &context) {
  (Ops::template attachInterface<FlatGradient<Ops>>(context), ...);
}

} // namespace

void passes::attachElementwiseGradients(MLIRContext &context) {
  attachElementwise<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::ModOp, nn::PowOp, nn::MinOp, nn::MaxOp, nn::NegOp,
                    nn::AbsOp, nn::SquareOp, nn::SqrtOp, nn::RsqrtOp, nn::ReciprocalOp, nn::ExpOp, nn::Expm1Op,
                    nn::LogOp, nn::Log1pOp, nn::SinOp, nn::CosOp, nn::TanOp, nn::ErfOp, nn::WhereOp, nn::CastOp,
                    nn::ReluOp, nn::LeakyReluOp, nn::PReluOp, nn::EluOp, nn::SeluOp, nn::CeluOp, nn::GeluOp,
                    nn::SigmoidOp, nn::SiluOp, nn::TanhOp, nn::SoftplusOp, nn::SoftsignOp, nn::MishOp,
                    nn::HardSigmoidOp, nn::HardSwishOp, nn::ClipOp, nn::DropoutOp>(context);
  attachFlat<nn::SignOp, nn::FloorOp, nn::CeilOp, nn::RoundOp>(context);
}
