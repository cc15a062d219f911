// Verifiers, folders and assembly formats of parameters, constants, kernels and reorder. This file also instantiates the
// generated op definitions.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

#define GET_OP_CLASSES
#include "ir/NNOps.cpp.inc"

LogicalResult ParameterOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape() || !isRowMajor(type))
    return emitOpError("parameter_c1: needs a static, row-major shape, found ") << type;
  if (getValue() && getValue()->getShapedType() != type)
    return emitOpError("parameter_c1: its value has type ")
           << getValue()->getShapedType() << ", expected " << type;
  return success();
}

LogicalResult GetParameterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto parameter = symbols.lookupNearestSymbolFrom<ParameterOp>(*this, getNameAttr());
  if (!parameter)
    return emitOpError("get_parameter_c1: no nn.parameter is named ") << getName();
  if (parameter.getType() != getType())
    return emitOpError("get_parameter_c1: parameter ")
           << getName() << " has type " << parameter.getType() << ", expected " << getType();
  return success();
}

LogicalResult StateOp::verify() {
  RankedTensorType type = getTensorType();
  if (!type.hasStaticShape() || !isRowMajor(type))
    return emitOpError("state_c1: needs a static, row-major shape, found ") << type;
  return success();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  RankedTensorType type = getTensorType();
  if (std::optional<ArrayAttr> parts = getParts()) {
    int64_t elements = 0;
    for (auto name : parts->getAsRange<FlatSymbolRefAttr>()) {
      auto parameter = symbols.lookupNearestSymbolFrom<ParameterOp>(*this, name);
      if (!parameter)
        return emitOpError("state_c2: no nn.parameter is named ") << name;
      auto part = cast<RankedTensorType>(parameter.getType());
      if (part.getElementType() != type.getElementType())
        return emitOpError("state_c2: parameter ") << name << " has elements of type " << part.getElementType() << ", expected "
                                                   << type.getElementType();
      elements += part.getNumElements();
    }
    if (type.getRank() != 1 || type.getNumElements() != elements)
      return emitOpError("state_c2: its parts have ") << elements << " elements, its type is " << type;
  }
  if (FlatSymbolRefAttr name = getLikeAttr()) {
    auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, name);
    if (!state || !state.getParts())
      return emitOpError("state_c3: no nn.state with parts is named ") << name;
    if (state.getTensorType().getNumElements() != type.getNumElements())
      return emitOpError("state_c3: ") << name << " has " << state.getTensorType().getNumElements()
                                       << " elements, its type is " << type;
  }
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

//===----------------------------------------------------------------------===//
// nn.kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  if (parser.parseAttribute(name, "kernel_name", result.attributes))
    return failure();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> operandTypes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseBinding = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(operands.emplace_back()) || parser.parseColonType(argument.type))
      return failure();
    operandTypes.push_back(argument.type);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseBinding) ||
      parser.resolveOperands(operands, operandTypes, loc, result.operands) ||
      parser.parseOptionalArrowTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttributeWithoutType(getKernelNameAttr());
  printer << " (";
  llvm::interleaveComma(llvm::zip(getBlock().getArguments(), getInputs()), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " = " << std::get<1>(pair) << " : " << std::get<1>(pair).getType();
  });
  printer << ")";
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"kernel_name"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "arg");
}

LogicalResult KernelOp::verify() {
  if (getBlock().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("kernel_c1: block arguments must have the operands' types");
  auto yield = dyn_cast<YieldOp>(getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("kernel_c1: the body must yield the result types");
  if (std::optional<uint64_t> operand = getInPlace())
    if (*operand >= getInputs().size() || getNumResults() != 1)
      return emitOpError("kernel_c2: in_place needs one result and the number of an operand, found ")
             << getNumResults() << " results and number " << *operand << " of " << getInputs().size();
  return success();
}

//===----------------------------------------------------------------------===//
// nn.insert
//===----------------------------------------------------------------------===//

LogicalResult InsertOp::verify() {
  auto x = cast<RankedTensorType>(getX().getType()), type = cast<RankedTensorType>(getType());
  Shape part = shapeOf(x), whole = shapeOf(type);
  int64_t axis = getAxis(), offset = getOffset();
  if (axis < 0 || axis >= type.getRank())
    return emitOpError("insert_c2: axis must be one of the result's ") << type.getRank() << " dimensions, found " << axis;
  bool fits = x.getElementType() == type.getElementType() && x.getRank() == type.getRank();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = dim == axis || part[dim] == whole[dim];
  if (!fits)
    return emitOpError("insert_c1: ") << describe(x) << " does not fit into " << describe(type) << " along dimension " << axis;
  if (x.isDynamicDim(axis) || type.isDynamicDim(axis) || offset < 0 || offset > type.getDimSize(axis) - x.getDimSize(axis))
    return emitOpError("insert_c2: dimension ") << axis << " of " << describe(x) << " at offset " << offset
                                                << " must lie within that of " << describe(type);
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (getDest()) {
    auto argument = dyn_cast<BlockArgument>(getDest());
    if (getDest().getType() != type || !kernel || !argument || kernel.getInPlace() != argument.getArgNumber())
      return emitOpError("insert_c3: dest must have the result's type and be the operand that the kernel overwrites in place");
  }
  if (!kernel || !llvm::hasSingleElement(getResult().getUsers()) || !isa<YieldOp>(*getResult().user_begin()))
    return emitOpError("insert_c4: the result must be yielded by the kernel around it, and not be read otherwise");
  return success();
}

//===----------------------------------------------------------------------===//
// nn.reorder
//===----------------------------------------------------------------------===//

LogicalResult ReorderOp::verify() {
  if (!sameLogicalType(getInput().getType(), getType()))
    return emitOpError("reorder_c1: operand ")
           << describe(getInput().getType()) << " and result " << describe(getType())
           << " must have the same logical type";
  return success();
}

OpFoldResult ReorderOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto producer = getInput().getDefiningOp<ReorderOp>()) {
    if (producer.getInput().getType() == getType())
      return producer.getInput();
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  return {};
}
