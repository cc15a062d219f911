// Reads the operands of elementwise chains; see ChainOperand.h.

#include "codegen/cpu/ChainOperand.h"

#include "codegen/cpu/ElementAccess.h"

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
  Type element = type.getElementType(), storage = storageType(element);
  auto splat = [&](Value scalar) -> Value {
    if (place.lanes == 1)
      return scalar;
    return vector::BroadcastOp::create(b, VectorType::get({place.lanes}, scalar.getType()), scalar);
  };
  if (auto constant = nn::splatConstant(operand))
    return splat(constantElement(b, *constant));
  Value pointer = b.argument(cast<BlockArgument>(operand).getArgNumber());
  auto load = [&](Value offset) {
    Value stored = loadLanes(b, storage, b.offset(pointer, storage, offset), place.lanes, place.mask);
    return fromStorage(b, element, stored);
  };
  switch (*nn::accessOf(type, place.type, place.channelDim)) {
  case nn::Access::Scalar:
    return splat(fromStorage(b, element, b.load(storage, pointer)));
  case nn::Access::PerChannel:
    return load(place.channel);
  case nn::Access::Full:
    return load(place.element);
  }
  llvm_unreachable("every access is handled");
}
