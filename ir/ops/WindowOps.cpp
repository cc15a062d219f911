// Result types and checks of pooling.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

template <typename Adaptor>
static LogicalResult inferPool(std::optional<Location> loc, Adaptor op, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  if (x.getRank() < 3 || x.getRank() > 5)
    return emitOptionalError(loc, "pool_c1: x must have rank 3, 4 or 5, found ", describe(x));
  size_t spatialRank = x.getRank() - 2;
  FailureOr<SmallVector<WindowDim>> windows =
      windowsOf(loc, "pool_c2", spatialRank, op.getKernel(), op.getStrides(), op.getDilations(),
                op.getPadsBegin(), op.getPadsEnd(), op.getCeilMode());
  if (failed(windows))
    return failure();
  Shape shape = {dimOf(x, 0), dimOf(x, 1)};
  for (size_t i = 0; i < spatialRank; ++i) {
    const WindowDim &window = (*windows)[i];
    int64_t reach = window.dilatedKernel().getOr(INT64_MAX);
    if (window.padBegin >= reach || window.padEnd >= reach)
      return emitOptionalError(loc, "pool_c2: pads of spatial dimension ", i,
                               " must be smaller than the dilated kernel (", reach, ")");
    shape.push_back(windowOutput(dimOf(x, 2 + i), window));
    if (!shape.back())
      return emitOptionalError(loc, "pool_c3: the dilated kernel does not fit into the padded input of spatial dimension ",
                               i, ": ", describe(x), " with kernel ", window.kernel);
  }
  return appendType(loc, shape, x.getElementType(), types);
}

LogicalResult MaxPoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  return inferPool(loc, Adaptor(operands, attributes, properties, regions), types);
}

LogicalResult AvgPoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  return inferPool(loc, Adaptor(operands, attributes, properties, regions), types);
}

template <typename Adaptor>
static LogicalResult inferAdaptivePool(std::optional<Location> loc, Adaptor op,
                                       SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  if (x.getRank() < 3 || x.getRank() > 5)
    return emitOptionalError(loc, "adaptive_pool_c1: x must have rank 3, 4 or 5, found ", describe(x));
  ArrayRef<int64_t> outputSize = op.getOutputSize();
  if (outputSize.size() != static_cast<size_t>(x.getRank()) - 2 ||
      llvm::any_of(outputSize, [](int64_t size) { return size < 1; }))
    return emitOptionalError(loc, "adaptive_pool_c2: output_size needs one positive entry per spatial dimension of ",
                             describe(x));
  if (llvm::is_contained(x.getShape().drop_front(2), 0))
    return emitOptionalError(loc, "adaptive_pool_c3: no spatial dimension may be empty, found ", describe(x));
  Shape shape = {dimOf(x, 0), dimOf(x, 1)};
  for (int64_t size : outputSize)
    shape.push_back(constantDim(x.getContext(), size));
  return appendType(loc, shape, x.getElementType(), types);
}

LogicalResult AdaptiveAvgPoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                  ValueRange operands, DictionaryAttr attributes,
                                                  OpaqueProperties properties, RegionRange regions,
                                                  SmallVectorImpl<Type> &types) {
  return inferAdaptivePool(loc, Adaptor(operands, attributes, properties, regions), types);
}

LogicalResult AdaptiveMaxPoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                  ValueRange operands, DictionaryAttr attributes,
                                                  OpaqueProperties properties, RegionRange regions,
                                                  SmallVectorImpl<Type> &types) {
  return inferAdaptivePool(loc, Adaptor(operands, attributes, properties, regions), types);
}
