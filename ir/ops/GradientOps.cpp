// Verification of the ops of differentiation, and the formula of nn.derivative.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"
#include "ir/ops/ScalarDerivative.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

//===----------------------------------------------------------------------===//
// nn.gradient
//===----------------------------------------------------------------------===//

LogicalResult GradientOp::verify() {
  if (getSeeds().empty()) {
    bool isScalar = getOf().size() == 1;
    for (Value loss : getOf())
      isScalar &= constantOf(product(shapeOf(loss.getType()), getContext())) == 1;
    if (!isScalar)
      return emitOpError("gradient_c1: a gradient without seeds is that of one tensor of one element, found ")
             << (getOf().size() == 1 ? describe(getOf()[0].getType()) : std::to_string(getOf().size()) + " tensors");
  } else if (!sameLogicalTypes(getSeeds().getTypes(), getOf().getTypes())) {
    return emitOpError("gradient_c2: seeds have the types of the tensors that are differentiated");
  }
  if (!sameLogicalTypes(getGradients().getTypes(), getBy().getTypes()))
    return emitOpError("gradient_c3: gradients have the types of the values that they belong to");
  return success();
}

//===----------------------------------------------------------------------===//
// nn.derivative
//===----------------------------------------------------------------------===//

namespace {

/// The op that an nn.derivative speaks of, on operands that nothing computes. It lives as long as this object.
class Differentiated {
public:
  explicit Differentiated(DerivativeOp derivative) {
    std::string name = ("nn." + derivative.getOf()).str();
    std::optional<RegisteredOperationName> info = RegisteredOperationName::lookup(name, derivative.getContext());
    if (!info || !info->hasInterface<ElementwiseOpInterface>())
      return;
    OpBuilder builder(derivative.getContext());
    builder.setInsertionPointToEnd(&block);
    OperationState state(derivative.getLoc(), name);
    for (Value input : derivative.getInputs().drop_back())
      state.operands.push_back(UnrealizedConversionCastOp::create(builder, derivative.getLoc(), logicalType(input.getType()), ValueRange()).getResult(0));
    state.addTypes(logicalType(derivative.getInputs().back().getType()));
    state.addAttributes(derivative.getWith().getValue());
    op = builder.create(state);
  }

  ElementwiseOpInterface get() { return dyn_cast_if_present<ElementwiseOpInterface>(op); }

private:
  Block block;
  Operation *op = nullptr;
};

} // namespace

LogicalResult DerivativeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                             DictionaryAttr, OpaqueProperties, RegionRange,
                                             SmallVectorImpl<Type> &types) {
  if (operands.empty())
    return emitOptionalError(loc, "derivative_c1: the last operand is the gradient of the result, found no operand");
  types.push_back(operands.back().getType());
  return success();
}

LogicalResult DerivativeOp::verify() {
  Differentiated differentiated(*this);
  if (!differentiated.get())
    return emitOpError("derivative_c1: there is no elementwise op nn.") << getOf();
  if (std::optional<std::string> why = whyInvalid(differentiated.get()))
    return emitOpError("derivative_c1: nn.")
           << getOf() << " of these operands has no result " << describe(getInputs().back().getType()) << ": " << *why;
  uint64_t count = getInputs().size() - 1;
  if (getWrt() >= count || !isa<FloatType>(getElementTypeOrSelf(getInputs()[getWrt()].getType())))
    return emitOpError("derivative_c2: operand ") << getWrt() << " is none with a floating-point element type";
  return success();
}

Value DerivativeOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Differentiated differentiated(*this);
  return buildDerivative(builder, loc, differentiated.get(), operands.drop_back(), getWrt(), operands.back());
}

//===----------------------------------------------------------------------===//
// nn.conv_weight_gradient
//===----------------------------------------------------------------------===//

LogicalResult ConvWeightGradientOp::verify() {
  // The convolution that it belongs to, on operands that nothing computes.
  Block block;
  OpBuilder builder(getContext());
  builder.setInsertionPointToEnd(&block);
  auto operand = [&](Type type) {
    return UnrealizedConversionCastOp::create(builder, getLoc(), logicalType(type), ValueRange()).getResult(0);
  };
  Value x = operand(getX().getType()), weight = operand(getResult().getType());
  auto conv = ConvOp::create(builder, getLoc(), logicalType(getG().getType()), x, weight, Value(), getStrides(),
                             getDilations(), getPadsBegin(), getPadsEnd(), getGroups());
  if (std::optional<std::string> why = whyInvalid(conv))
    return emitOpError("conv_weight_gradient_c1: there is no such convolution to ") << describe(getG().getType()) << ": " << *why;
  return success();
}

//===----------------------------------------------------------------------===//
// nn.gather_gradient
//===----------------------------------------------------------------------===//

LogicalResult GatherGradientOp::verify() {
  Block block;
  OpBuilder builder(getContext());
  builder.setInsertionPointToEnd(&block);
  auto operand = [&](Type type) {
    return UnrealizedConversionCastOp::create(builder, getLoc(), logicalType(type), ValueRange()).getResult(0);
  };
  Value x = operand(getResult().getType()), indices = operand(getIndices().getType());
  auto gather = GatherOp::create(builder, getLoc(), logicalType(getG().getType()), x, indices, getAxis());
  if (std::optional<std::string> why = whyInvalid(gather))
    return emitOpError("gather_gradient_c1: there is no such gather to ") << describe(getG().getType()) << ": " << *why;
  return success();
}

GatherGradientOp::Extents GatherGradientOp::extents() {
  Shape shape = shapeOf(getResult().getType());
  ArrayRef<Dim> dims = shape;
  return {product(dims.take_front(getAxis()), getContext()), dims[getAxis()],
          product(dims.drop_front(getAxis() + 1), getContext()), product(shapeOf(getIndices().getType()), getContext())};
}
