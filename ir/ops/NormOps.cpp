// Result types and checks of normalisations and softmax.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

/// Checks an optional operand that has exactly this shape and element type.
static LogicalResult checkOperand(std::optional<Location> loc, StringRef constraint, StringRef name,
                                  Value operand, ArrayRef<Dim> expected, Type element) {
  if (!operand)
    return success();
  auto type = cast<RankedTensorType>(operand.getType());
  if (ArrayRef<Dim>(shapeOf(type)) == expected && type.getElementType() == element)
    return success();
  std::string shape;
  llvm::raw_string_ostream os(shape);
  llvm::interleaveComma(expected, os, [&](Dim dim) { os << toString(dim, type.getContext()); });
  return emitOptionalError(loc, constraint, ": ", name, " must have shape [", shape,
                           "] and x's element type, found ", describe(type));
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            ValueRange operands, DictionaryAttr, OpaqueProperties,
                                            RegionRange, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(operands[0].getType());
  if (x.getRank() < 2)
    return emitOptionalError(loc, "batch_norm_c1: x must have rank 2 or more, found ", describe(x));
  StringRef names[] = {"scale", "bias", "mean", "variance"};
  for (auto [name, operand] : llvm::zip_equal(names, operands.drop_front()))
    if (failed(checkOperand(loc, "batch_norm_c2", name, operand, dimOf(x, 1), x.getElementType())))
      return failure();
  return appendType(loc, shapeOf(x), x.getElementType(), types);
}

/// Number of normalised trailing dimensions, scale and bias over them.
static LogicalResult checkTrailing(std::optional<Location> loc, StringRef op, RankedTensorType x,
                                   int64_t dims, Value scale, Value bias) {
  if (dims < 1 || dims > x.getRank())
    return emitOptionalError(loc, op, "_c1: dims must be at least 1 and at most the rank of ",
                             describe(x), ", found ", dims);
  Shape shape = shapeOf(x);
  ArrayRef<Dim> trailing = ArrayRef<Dim>(shape).take_back(dims);
  std::string constraint = (op + "_c2").str();
  return failure(
      failed(checkOperand(loc, constraint, "scale", scale, trailing, x.getElementType())) ||
      failed(checkOperand(loc, constraint, "bias", bias, trailing, x.getElementType())));
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  if (failed(checkTrailing(loc, "layer_norm", x, op.getDims(), op.getScale(), op.getBias())))
    return failure();
  return appendType(loc, shapeOf(x), x.getElementType(), types);
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  if (failed(checkTrailing(loc, "rms_norm", x, op.getDims(), op.getScale(), {})))
    return failure();
  return appendType(loc, shapeOf(x), x.getElementType(), types);
}

LogicalResult GroupNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  int64_t groups = op.getGroups();
  if (x.getRank() < 2 || groups < 1 || x.isDynamicDim(1) || x.getDimSize(1) % groups != 0)
    return emitOptionalError(
        loc, "group_norm_c1: x must have rank 2 or more and channels that groups divides, found ",
        describe(x), " and ", groups, " groups");
  if (failed(checkOperand(loc, "group_norm_c2", "scale", op.getScale(), dimOf(x, 1),
                          x.getElementType())) ||
      failed(checkOperand(loc, "group_norm_c2", "bias", op.getBias(), dimOf(x, 1),
                          x.getElementType())))
    return failure();
  return appendType(loc, shapeOf(x), x.getElementType(), types);
}

LogicalResult InstanceNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               ValueRange operands, DictionaryAttr attributes,
                                               OpaqueProperties properties, RegionRange regions,
                                               SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  if (x.getRank() < 3)
    return emitOptionalError(loc, "instance_norm_c1: x must have rank 3 or more, found ",
                             describe(x));
  if (failed(checkOperand(loc, "instance_norm_c2", "scale", op.getScale(), dimOf(x, 1),
                          x.getElementType())) ||
      failed(checkOperand(loc, "instance_norm_c2", "bias", op.getBias(), dimOf(x, 1),
                          x.getElementType())))
    return failure();
  return appendType(loc, shapeOf(x), x.getElementType(), types);
}

/// The result type is x's, by the definition; the axis is left to check.
template <typename Op>
static LogicalResult verifySoftmax(Op op) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  int64_t axis = op.getAxis();
  if (axis < 0 || axis >= x.getRank())
    return op.emitOpError("softmax_c1: axis ")
           << axis << " is not a dimension of " << describe(x);
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifySoftmax(*this); }
LogicalResult LogSoftmaxOp::verify() { return verifySoftmax(*this); }
