// Result-type rules that several op families share; see InferenceHelpers.h.

#include "ir/ops/InferenceHelpers.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

LogicalResult nn::inferSameType(std::optional<Location>, ValueRange operands,
                                SmallVectorImpl<Type> &types) {
  types.push_back(operands[0].getType());
  return success();
}

LogicalResult nn::appendType(std::optional<Location> loc, ArrayRef<Dim> shape, Type element,
                             SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> type = tensorType(loc, shape, element);
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult nn::inferBroadcastType(std::optional<Location> loc, ValueRange operands,
                                     SmallVectorImpl<Type> &types, Type element) {
  auto first = cast<RankedTensorType>(operands[0].getType());
  Shape shape = shapeOf(first);
  for (Value operand : operands.drop_front()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getElementType() != first.getElementType())
      return emitOptionalError(loc, "broadcast_c1: operands must have one element type, found ",
                               describe(first), " and ", describe(type),
                               "; convert one with a cast");
    std::pair<Dim, Dim> conflict;
    FailureOr<Shape> both = broadcastShapes(shape, shapeOf(type), &conflict);
    if (failed(both))
      return emitOptionalError(loc, "broadcast_c2: shapes of ", describe(first), " and ",
                               describe(type), " do not broadcast: ",
                               toString(conflict.first, type.getContext()), " meets ",
                               toString(conflict.second, type.getContext()));
    shape = *both;
  }
  return appendType(loc, shape, element ? element : first.getElementType(), types);
}

LogicalResult nn::inferComparisonType(std::optional<Location> loc, ValueRange operands,
                                      SmallVectorImpl<Type> &types) {
  return inferBroadcastType(loc, operands, types,
                            IntegerType::get(operands[0].getContext(), 1));
}

FailureOr<SmallVector<WindowDim>>
nn::windowsOf(std::optional<Location> loc, StringRef name, size_t spatialRank,
              ArrayRef<int64_t> kernel, ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
              ArrayRef<int64_t> padsBegin, ArrayRef<int64_t> padsEnd, bool ceilMode) {
  auto fail = [&](const Twine &text) -> LogicalResult {
    return emitOptionalError(loc, name, ": ", text.str());
  };
  std::pair<StringRef, ArrayRef<int64_t>> arrays[] = {{"kernel", kernel},
                                                      {"strides", strides},
                                                      {"dilations", dilations},
                                                      {"pads_begin", padsBegin},
                                                      {"pads_end", padsEnd}};
  for (auto [label, values] : arrays) {
    if (values.size() != spatialRank)
      return fail(label + " needs one entry per spatial dimension: expected " + Twine(spatialRank) +
                  ", found " + Twine(values.size()));
    int64_t least = label.starts_with("pads") ? 0 : 1;
    for (int64_t value : values)
      if (value < least)
        return fail(label + " entries must be at least " + Twine(least) + ", found " + Twine(value));
  }
  SmallVector<WindowDim> windows;
  for (size_t i = 0; i < spatialRank; ++i)
    windows.push_back(
        {kernel[i], strides[i], dilations[i], padsBegin[i], padsEnd[i], ceilMode});
  return windows;
}

std::optional<std::string> nncc::nn::whyInvalid(Operation *op) {
  std::string message;
  ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
      message = diagnostic.str();
    return success();
  });
  return failed(verify(op)) ? std::optional(message) : std::nullopt;
}
