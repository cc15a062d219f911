// Normalisation and softmax. Parameters as in PyTorch: weight one and bias zero, running statistics
// of mean zero and variance one.
#include "frontend/nn/OpCall.h"

#include <fmt/format.h>

namespace nncc::frontend {

namespace {

/// weight and bias of a shape, as far as the call's flags want them; false after an error.
bool affine(OpCall &call, bool wanted, llvm::ArrayRef<int64_t> shape,
            llvm::SmallVectorImpl<mlir::Value> &operands, int32_t segments[3]) {
  segments[0] = 1;
  segments[1] = segments[2] = 0;
  if (!wanted)
    return true;
  mlir::Type element = call.tensorType("x").getElementType();
  operands.push_back(call.parameter("weight", shape, element, {"ones", 0, 0}));
  segments[1] = 1;
  if (call.flag("bias")) {
    operands.push_back(call.parameter("bias", shape, element, {"zeros", 0, 0}));
    segments[2] = 1;
  }
  return !llvm::is_contained(operands, mlir::Value());
}

mlir::NamedAttribute segmentsOf(OpCall &call, llvm::ArrayRef<int32_t> segments) {
  return call.attribute("operandSegmentSizes",
                        mlir::DenseI32ArrayAttr::get(call.context(), segments));
}

OpResults batchNorm(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  if (x.getRank() < 2) {
    call.failAt("x",
                fmt::format("expected x of rank 2 or more [N, C, ...], found {}", nn::describe(x)));
    return {};
  }
  auto channels = call.staticDim("x", 1, "the number of channels (dimension 1)");
  if (!channels)
    return {};
  mlir::Type element = x.getElementType();
  llvm::SmallVector<mlir::Value> operands = {
      call.tensor("x"), call.parameter("weight", {*channels}, element, {"ones", 0, 0}),
      call.parameter("bias", {*channels}, element, {"zeros", 0, 0}),
      call.parameter("running_mean", {*channels}, element, {"zeros", 0, 0}),
      call.parameter("running_var", {*channels}, element, {"ones", 0, 0})};
  if (llvm::is_contained(operands, mlir::Value()))
    return {};
  return call.create<nn::BatchNormOp>(
      operands, {call.attribute("epsilon", call.number("eps")), call.attribute("momentum", call.number("momentum"))});
}

/// The extents of the last `dims` dimensions, all of which must be known.
std::optional<llvm::SmallVector<int64_t>> lastExtents(OpCall &call, int64_t dims) {
  mlir::RankedTensorType x = call.tensorType("x");
  if (dims < 1 || dims > x.getRank())
    return call.failAt("dims", fmt::format("dims must lie in 1..{} for {}, found {}", x.getRank(),
                                           nn::describe(x), dims));
  llvm::SmallVector<int64_t> shape;
  for (int64_t d = x.getRank() - dims; d < x.getRank(); ++d) {
    auto extent = call.staticDim("x", d, "a normalised dimension");
    if (!extent)
      return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

OpResults layerNorm(OpCall &call) {
  auto shape = lastExtents(call, call.integer("dims"));
  llvm::SmallVector<mlir::Value> operands = {call.tensor("x")};
  int32_t segments[3];
  if (!shape || !affine(call, call.flag("affine"), *shape, operands, segments))
    return {};
  return call.create<nn::LayerNormOp>(operands, {call.attribute("dims", call.integer("dims")),
                                                 call.attribute("epsilon", call.number("eps")),
                                                 segmentsOf(call, segments)});
}

OpResults rmsNorm(OpCall &call) {
  auto shape = lastExtents(call, call.integer("dims"));
  if (!shape)
    return {};
  llvm::SmallVector<mlir::Value> operands = {call.tensor("x")};
  if (call.flag("affine")) {
    operands.push_back(
        call.parameter("weight", *shape, call.tensorType("x").getElementType(), {"ones", 0, 0}));
    if (!operands.back())
      return {};
  }
  return call.create<nn::RmsNormOp>(operands, {call.attribute("dims", call.integer("dims")),
                                               call.attribute("epsilon", call.number("eps"))});
}

std::optional<int64_t> channelsOf(OpCall &call, int64_t leastRank) {
  mlir::RankedTensorType x = call.tensorType("x");
  if (x.getRank() < leastRank)
    return call.failAt("x", fmt::format("expected x of rank {} or more [N, C, ...], found {}",
                                        leastRank, nn::describe(x)));
  return call.staticDim("x", 1, "the number of channels (dimension 1)");
}

OpResults groupNorm(OpCall &call) {
  auto channels = channelsOf(call, 2);
  auto groups = channels ? call.integerFrom("groups", 1) : std::nullopt;
  if (!groups)
    return {};
  if (*channels % *groups != 0) {
    call.failAt("groups",
                fmt::format("groups must divide the {} channels, found {}", *channels, *groups));
    return {};
  }
  llvm::SmallVector<mlir::Value> operands = {call.tensor("x")};
  int32_t segments[3];
  if (!affine(call, call.flag("affine"), {*channels}, operands, segments))
    return {};
  return call.create<nn::GroupNormOp>(operands, {call.attribute("groups", *groups),
                                                 call.attribute("epsilon", call.number("eps")),
                                                 segmentsOf(call, segments)});
}

OpResults instanceNorm(OpCall &call) {
  auto channels = channelsOf(call, 3);
  llvm::SmallVector<mlir::Value> operands = {call.tensor("x")};
  int32_t segments[3];
  if (!channels || !affine(call, call.flag("affine"), {*channels}, operands, segments))
    return {};
  return call.create<nn::InstanceNormOp>(
      operands, {call.attribute("epsilon", call.number("eps")), segmentsOf(call, segments)});
}

template <typename Op> OpResults softmaxLike(OpCall &call) {
  auto axis = call.axis("axis", call.tensorType("x").getRank());
  if (!axis)
    return {};
  return call.create<Op>(call.tensor("x"), call.attribute("axis", *axis));
}

} // namespace

llvm::ArrayRef<OpEntry> normOps() {
  static const OpEntry entries[] = {
      {"batch_norm", "Normalisation", "x: tensor, eps: float = 1e-5, momentum: float = 0.1",
       "weight, bias, running_mean, running_var", "",
       "per channel with running statistics; momentum is for training", batchNorm},
      {"layer_norm", "Normalisation",
       "x: tensor, dims: int = 1, eps: float = 1e-5, affine: bool = true, bias: bool = true",
       "weight, bias", "", "over the last `dims` dimensions", layerNorm},
      {"rms_norm", "Normalisation",
       "x: tensor, dims: int = 1, eps: float = 1e-5, affine: bool = true", "weight", "",
       "division by the root of the mean square over the last `dims` dimensions", rmsNorm},
      {"group_norm", "Normalisation",
       "x: tensor, groups: int, eps: float = 1e-5, affine: bool = true, bias: bool = true",
       "weight, bias", "", "over groups of channels and the spatial dimensions", groupNorm},
      {"instance_norm", "Normalisation",
       "x: tensor, eps: float = 1e-5, affine: bool = false, bias: bool = true", "weight, bias", "",
       "each channel over the spatial dimensions", instanceNorm},
      {"softmax", "Normalisation", "x: tensor, axis: int = -1", "", "",
       "exp(x) / sum(exp(x)) along a dimension", softmaxLike<nn::SoftmaxOp>},
      {"log_softmax", "Normalisation", "x: tensor, axis: int = -1", "", "", "log(softmax(x))",
       softmaxLike<nn::LogSoftmaxOp>},
  };
  return entries;
}

} // namespace nncc::frontend
