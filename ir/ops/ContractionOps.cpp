// Result types and checks of matmul and conv.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

static LogicalResult checkBias(std::optional<Location> loc, StringRef name, Value bias, Dim expected,
                               Type element) {
  if (!bias)
    return success();
  auto type = cast<RankedTensorType>(bias.getType());
  if (type.getRank() != 1 || dimOf(type, 0) != expected || type.getElementType() != element)
    return emitOptionalError(loc, name, ": bias must have shape [",
                             toString(expected, type.getContext()), "], found ", describe(type));
  return success();
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  if (lhs.getRank() < 2 || rhs.getRank() < 2 || lhs.getElementType() != rhs.getElementType())
    return emitOptionalError(loc, "matmul_c1: operands must have rank 2 or more and one element type, found ",
                             describe(lhs), " and ", describe(rhs));
  Shape a = shapeOf(lhs), b = shapeOf(rhs);
  if (op.getTransposeLhs())
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (op.getTransposeRhs())
    std::swap(b[b.size() - 1], b[b.size() - 2]);
  Dim k = a.back(), n = b.back();
  if (k != b[b.size() - 2])
    return emitOptionalError(loc, "matmul_c2: the contracted dimensions must agree, found ",
                             toString(k, context), " in ", describe(lhs), " and ",
                             toString(b[b.size() - 2], context), " in ", describe(rhs));
  FailureOr<Shape> shape =
      broadcastShapes(ArrayRef<Dim>(a).drop_back(2), ArrayRef<Dim>(b).drop_back(2));
  if (failed(shape))
    return emitOptionalError(loc, "matmul_c3: the leading dimensions of ", describe(lhs), " and ",
                             describe(rhs), " do not broadcast");
  shape->push_back(a[a.size() - 2]);
  shape->push_back(n);
  if (failed(checkBias(loc, "matmul_c4", op.getBias(), n, lhs.getElementType())))
    return failure();
  return appendType(loc, *shape, lhs.getElementType(), types);
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                       ValueRange operands, DictionaryAttr attributes,
                                       OpaqueProperties properties, RegionRange regions,
                                       SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (x.getRank() < 3 || x.getRank() > 5 || weight.getRank() != x.getRank() ||
      weight.getElementType() != x.getElementType() || !weight.hasStaticShape())
    return emitOptionalError(loc, "conv_c1: x must have rank 3, 4 or 5 and a static weight the same rank and element type, found ",
                             describe(x), " and ", describe(weight));
  size_t spatialRank = x.getRank() - 2;
  FailureOr<SmallVector<WindowDim>> windows =
      windowsOf(loc, "conv_c2", spatialRank, weight.getShape().drop_front(2), op.getStrides(),
                op.getDilations(), op.getPadsBegin(), op.getPadsEnd());
  if (failed(windows))
    return failure();
  int64_t groups = op.getGroups();
  std::optional<int64_t> channels = constantOf(dimOf(x, 1));
  if (groups < 1 || !channels || *channels % groups || weight.getDimSize(0) % groups ||
      weight.getDimSize(1) != *channels / groups)
    return emitOptionalError(loc, "conv_c3: groups (", groups, ") must divide the channels of ", describe(x),
                             " and of the weight ", describe(weight),
                             ", whose dimension 1 must be channels / groups");
  Dim outputs = dimOf(weight, 0);
  if (failed(checkBias(loc, "conv_c4", op.getBias(), outputs, x.getElementType())))
    return failure();
  Shape shape = {dimOf(x, 0), outputs};
  for (size_t i = 0; i < spatialRank; ++i) {
    shape.push_back(windowOutput(dimOf(x, 2 + i), (*windows)[i]));
    if (!shape.back())
      return emitOptionalError(loc, "conv_c5: the dilated kernel does not fit into the padded input of spatial dimension ",
                               i, ": ", describe(x), " with kernel ", (*windows)[i].kernel);
  }
  (void)context;
  return appendType(loc, shape, x.getElementType(), types);
}

/// (in - 1) * stride - padBegin - padEnd + dilation * (kernel - 1) + outputPadding + 1; a null Dim when that is not positive.
static Dim transposedOutput(Dim input, const WindowDim &window, int64_t outputPadding) {
  CheckedSize rest = window.dilatedKernel() - window.padBegin - window.padEnd + outputPadding -
                     window.stride;
  if (!rest.valid())
    return {};
  std::optional<int64_t> extent = constantOf(input);
  if (!extent)
    return input * window.stride + *rest.get();
  CheckedSize output = CheckedSize(*extent) * window.stride + rest;
  if (!output.valid() || *output.get() < 1)
    return {};
  return constantDim(input.getContext(), *output.get());
}

LogicalResult ConvTransposeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                                ValueRange operands, DictionaryAttr attributes,
                                                OpaqueProperties properties, RegionRange regions,
                                                SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (x.getRank() < 3 || x.getRank() > 5 || weight.getRank() != x.getRank() ||
      weight.getElementType() != x.getElementType() || !weight.hasStaticShape())
    return emitOptionalError(loc, "conv_transpose_c1: x must have rank 3, 4 or 5 and a static weight the same rank and element type, found ",
                             describe(x), " and ", describe(weight));
  size_t spatialRank = x.getRank() - 2;
  FailureOr<SmallVector<WindowDim>> windows =
      windowsOf(loc, "conv_transpose_c2", spatialRank, weight.getShape().drop_front(2), op.getStrides(),
                op.getDilations(), op.getPadsBegin(), op.getPadsEnd());
  if (failed(windows))
    return failure();
  ArrayRef<int64_t> outputPadding = op.getOutputPadding();
  if (outputPadding.size() != spatialRank)
    return emitOptionalError(loc, "conv_transpose_c3: output_padding needs one entry per spatial dimension: expected ",
                             spatialRank, ", found ", outputPadding.size());
  for (size_t i = 0; i < spatialRank; ++i)
    if (outputPadding[i] < 0 ||
        outputPadding[i] >= std::max((*windows)[i].stride, (*windows)[i].dilation))
      return emitOptionalError(loc, "conv_transpose_c3: output_padding must be smaller than the stride or the dilation, found ",
                               outputPadding[i]);
  int64_t groups = op.getGroups();
  std::optional<int64_t> channels = constantOf(dimOf(x, 1));
  if (groups < 1 || !channels || *channels % groups || weight.getDimSize(0) != *channels)
    return emitOptionalError(loc, "conv_transpose_c4: groups (", groups, ") must divide the channels of ",
                             describe(x), ", as many as dimension 0 of the weight ", describe(weight));
  CheckedSize outputCount = CheckedSize(weight.getDimSize(1)) * groups;
  Dim outputs = outputCount.valid() ? constantDim(context, *outputCount.get()) : Dim();
  if (failed(checkBias(loc, "conv_transpose_c5", op.getBias(), outputs, x.getElementType())))
    return failure();
  Shape shape = {dimOf(x, 0), outputs};
  for (size_t i = 0; i < spatialRank; ++i) {
    shape.push_back(transposedOutput(dimOf(x, 2 + i), (*windows)[i], outputPadding[i]));
    if (!shape.back())
      return emitOptionalError(loc, "conv_transpose_c6: the result is empty or too large in spatial dimension ", i,
                               ": ", describe(x), " with kernel ", (*windows)[i].kernel);
  }
  return appendType(loc, shape, x.getElementType(), types);
}
