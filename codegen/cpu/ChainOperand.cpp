// Reads the operands of elementwise chains; see ChainOperand.h.

#include "codegen/cpu/ChainOperand.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

Value codegen::loadLanes(KernelBuilder &b, Type element, Value pointer, int64_t lanes, Value mask) {
  if (lanes == 1)
    return b.load(element, pointer);
  return b.loadVector(VectorType::get({lanes}, element), pointer, mask);
}

Value codegen::readChainOperand(KernelBuilder &b, Value operand, const ChainPlace &place) {
  auto type = cast<RankedTensorType>(operand.getType());
  Type element = type.getElementType();
  auto splat = [&](Value scalar) -> Value {
    if (place.lanes == 1)
      return scalar;
    return vector::BroadcastOp::create(b, VectorType::get({place.lanes}, element), scalar);
  };
  if (auto constant = nn::splatConstant(operand))
    return splat(arith::ConstantOp::create(b, cast<TypedAttr>(*constant)));
  Value pointer = b.argument(cast<BlockArgument>(operand).getArgNumber());
  switch (*nn::accessOf(type, place.type, place.channelDim)) {
  case nn::Access::Scalar:
    return splat(b.load(element, pointer));
  case nn::Access::PerChannel:
    return loadLanes(b, element, b.offset(pointer, element, place.channel), place.lanes, place.mask);
  case nn::Access::Full:
    return loadLanes(b, element, b.offset(pointer, element, place.element), place.lanes, place.mask);
  }
  llvm_unreachable("every access is handled");
}
