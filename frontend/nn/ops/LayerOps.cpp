// Layers with weights: linear, convolutions, embedding. Weights have PyTorch's names, shapes and
// default initialisers: uniform within 1 / sqrt(fan-in) (kaiming_uniform with a = sqrt(5), and the
// bias alike), embeddings standard normal.
#include "frontend/nn/ops/Windows.h"

#include <fmt/format.h>

#include <cmath>

namespace nncc::frontend {

namespace {

InitValue uniformByFanIn(CheckedSize fanIn) {
  double bound = 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(1, fanIn.getOr(1))));
  return {"uniform", -bound, bound};
}

bool isFloat(OpCall &call, llvm::StringRef name) {
  if (mlir::isa<mlir::FloatType>(call.tensorType(name).getElementType()))
    return true;
  call.failAt(
      name,
      fmt::format("expected a floating-point tensor, found {}; cast it first, as in cast({}, f32)",
                  nn::describe(call.tensorType(name)), name.str()));
  return false;
}

/// "401408 (32*112*112)": the features of x, and what was flattened into them.
std::string featuresText(mlir::Value x, int64_t features) {
  std::string text = fmt::to_string(features);
  mlir::Operation *op = x.getDefiningOp();
  if (!op || op->getName().getStringRef() != "nn.reshape")
    return text;
  std::string factors;
  CheckedSize product = 1;
  nn::Shape shape = nn::shapeOf(op->getOperand(0).getType());
  for (size_t i = 1; i < shape.size(); ++i) {
    std::optional<int64_t> extent = nn::constantOf(shape[i]);
    if (!extent)
      return text;
    product *= *extent;
    factors += fmt::format("{}{}", factors.empty() ? "" : "*", *extent);
  }
  return shape.size() > 2 && product.get() == features ? fmt::format("{} ({})", text, factors)
                                                       : text;
}

OpResults linear(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  if (!isFloat(call, "x"))
    return {};
  if (x.getRank() < 2) {
    call.failAt("x", fmt::format("expected x of rank 2 or more [..., features], found {}",
                                 nn::describe(x)));
    return {};
  }
  auto inputs = call.staticDim("x", x.getRank() - 1, "the number of features (the last dimension)");
  auto outputs = call.integerFrom("out_features", 1);
  if (!inputs || !outputs)
    return {};
  if (call.has("in_features") && call.integer("in_features") != *inputs) {
    call.failAt(
        "in_features",
        fmt::format("weight expects {} features, found {}; make in_features and the shape of x "
                    "agree",
                    call.integer("in_features"), featuresText(call.tensor("x"), *inputs)));
    return {};
  }
  mlir::Type element = x.getElementType();
  InitValue init = uniformByFanIn(*inputs);
  llvm::SmallVector<mlir::Value> operands = {
      call.tensor("x"), call.parameter("weight", {*outputs, *inputs}, element, init)};
  if (call.flag("bias"))
    operands.push_back(call.parameter("bias", {*outputs}, element, init));
  if (llvm::is_contained(operands, mlir::Value()))
    return {};
  return call.create<nn::MatmulOp>(operands, call.unit("transpose_rhs"));
}

/// A convolution or transposed convolution: they differ in which side of the weight the groups
/// divide, and in the output padding.
template <typename Op, size_t SpatialRank> OpResults convolution(OpCall &call) {
  constexpr bool transposed = std::is_same_v<Op, nn::ConvTransposeOp>;
  if (!isFloat(call, "x") || !call.expectRank("x", 2 + SpatialRank, imageForm(SpatialRank)))
    return {};
  auto channels = call.staticDim("x", 1, "the number of channels (dimension 1)");
  auto outputs = call.integerFrom("out_channels", 1);
  auto groups = call.integerFrom("groups", 1);
  auto windows = windowsOf(call, SpatialRank);
  if (!channels || !outputs || !groups || !windows)
    return {};
  if (*channels % *groups != 0 || *outputs % *groups != 0) {
    call.failAt(
        "groups",
        fmt::format(
            "groups must divide the channels of x and out_channels, found {} groups of {} and "
            "{} channels",
            *groups, *channels, *outputs));
    return {};
  }
  llvm::SmallVector<int64_t> shape = {*outputs, *channels / *groups};
  if (transposed)
    shape = {*channels, *outputs / *groups};
  shape.append(windows->kernel.begin(), windows->kernel.end());
  CheckedSize fanIn = 1;
  for (int64_t extent : llvm::drop_begin(shape))
    fanIn *= extent;
  auto attributes = attributesOf(call, *windows);
  attributes.push_back(call.attribute("groups", *groups));
  if constexpr (transposed) {
    auto outputPadding = call.ints("output_padding", SpatialRank, 0);
    if (!outputPadding)
      return {};
    attributes.push_back(call.attribute("output_padding", llvm::ArrayRef<int64_t>(*outputPadding)));
  }
  mlir::Type element = call.tensorType("x").getElementType();
  InitValue init = uniformByFanIn(fanIn);
  llvm::SmallVector<mlir::Value> operands = {call.tensor("x"),
                                             call.parameter("weight", shape, element, init)};
  if (call.flag("bias"))
    operands.push_back(call.parameter("bias", {*outputs}, element, init));
  if (llvm::is_contained(operands, mlir::Value()))
    return {};
  return call.create<Op>(operands, attributes);
}

OpResults embedding(OpCall &call) {
  auto rows = call.integerFrom("rows", 1);
  auto features = rows ? call.integerFrom("features", 1) : std::nullopt;
  if (!features)
    return {};
  mlir::Type indexType = call.tensorType("ids").getElementType();
  if (!indexType.isSignlessInteger(32) && !indexType.isSignlessInteger(64)) {
    call.failAt("ids", fmt::format("expected ids of i64 or i32, found {}",
                                   nn::describe(call.tensorType("ids"))));
    return {};
  }
  mlir::Type element = mlir::Float32Type::get(call.context());
  mlir::Value table = call.parameter("weight", {*rows, *features}, element, {"normal", 0, 1});
  if (!table)
    return {};
  return call.create<nn::GatherOp>({table, call.tensor("ids")}, call.attribute("axis", int64_t(0)));
}

} // namespace

static constexpr std::string_view kTransposedSignature =
    "x: tensor, out_channels: int, kernel: ints, stride: ints = 1, padding: padding = 0, "
    "output_padding: ints = 0, "
    "dilation: ints = 1, groups: int = 1, bias: bool = true";
static constexpr std::string_view kConvSignature =
    "x: tensor, out_channels: int, kernel: ints, stride: ints = 1, padding: padding = 0, dilation: "
    "ints = 1, "
    "groups: int = 1, bias: bool = true";

llvm::ArrayRef<OpEntry> layerOps() {
  static const OpEntry entries[] = {
      {"linear", "Layers",
       "x: tensor, out_features: int, bias: bool = true, in_features: int? = none", "weight, bias",
       "", "x @ weight.T + bias over the last dimension; in_features, when given, is checked",
       linear},
      {"conv1d", "Layers", kConvSignature, "weight, bias", "", "convolution of [N, C, L]",
       convolution<nn::ConvOp, 1>},
      {"conv2d", "Layers", kConvSignature, "weight, bias", "", "convolution of [N, C, H, W]",
       convolution<nn::ConvOp, 2>},
      {"conv3d", "Layers", kConvSignature, "weight, bias", "", "convolution of [N, C, D, H, W]",
       convolution<nn::ConvOp, 3>},
      {"conv_transpose1d", "Layers", kTransposedSignature, "weight, bias", "",
       "transposed convolution of [N, C, L]", convolution<nn::ConvTransposeOp, 1>},
      {"conv_transpose2d", "Layers", kTransposedSignature, "weight, bias", "",
       "transposed convolution of [N, C, H, W]", convolution<nn::ConvTransposeOp, 2>},
      {"conv_transpose3d", "Layers", kTransposedSignature, "weight, bias", "",
       "transposed convolution of [N, C, D, H, W]", convolution<nn::ConvTransposeOp, 3>},
      {"embedding", "Layers", "ids: tensor, rows: int, features: int", "weight", "",
       "row ids of a table [rows, features]", embedding},
  };
  return entries;
}

} // namespace nncc::frontend
