// Reads convolutions and their gradients as calls of libraries; see Alternatives.h.

#include "codegen/cuda/CallReader.h"

#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

/// Any stride will do along an extent of 1.
bool CallReader::isDenseChannelsLast(const nn::StridedView &view, const nn::Shape &shape) const {
  nn::Dim stride = shape[1];
  for (size_t dim = shape.size(); dim-- > 2; stride = stride * shape[dim])
    if (nn::constantOf(shape[dim]) != 1 && view.strides[dim] != stride)
      return false;
  return (nn::constantOf(shape[1]) == 1 || view.strides[1] == number(1)) &&
         view.strides[0] == stride && view.offset == number(0);
}

/// A kernel of one position without padding multiplies the positions of the input by the weight.
std::optional<rt::MatrixProduct<nn::Dim>> CallReader::asProduct(const ConvGeometry &geometry,
                                                                int64_t panelWidth) {
  nn::ConvOp conv = geometry.conv;
  bool isPointwise = geometry.groups == 1 && geometry.isPointwise();
  if (!isPointwise || x.strides[1] != number(1) || y.strides[1] != number(1))
    return std::nullopt;
  auto positions = [](auto list) {
    list.erase(list.begin() + 1);
    return list;
  };
  nn::Shape extents = positions(nn::shapeOf(conv.resultType()));
  std::optional<nn::Dim> xRow = joinedStride(extents, positions(x.strides)),
                         yRow = joinedStride(extents, positions(y.strides));
  if (!xRow || !yRow)
    return std::nullopt;
  rt::MatrixProduct<nn::Dim> product;
  product.products = number(1);
  product.rows = nn::product(extents, context);
  product.columns = number(geometry.outputs);
  product.depth = number(geometry.channels);
  product.xOffset = x.offset;
  product.yOffset = y.offset;
  product.wOffset = product.xProduct = product.wProduct = product.yProduct = number(0);
  bool isOneRow = nn::constantOf(product.rows) == 1;
  product.xRow = isOneRow ? product.depth : *xRow;
  product.yRow = isOneRow ? product.columns : *yRow;
  product.wRow = number(panelWidth);
  return product;
}

std::optional<rt::Convolution<nn::Dim>> CallReader::windowsOf(const ConvGeometry &geometry) const {
  bool isFlat = geometry.kernel[0] == 1 && nn::constantOf(geometry.in[0]) == 1 &&
                nn::constantOf(geometry.out[0]) == 1;
  if (geometry.spatialRank > 2 || !isFlat || geometry.padBegin != geometry.padEnd)
    return std::nullopt;
  rt::Convolution<nn::Dim> convolution;
  convolution.batch = geometry.batch;
  convolution.channels = number(geometry.channels);
  convolution.outputs = number(geometry.outputs);
  convolution.groups = number(geometry.groups);
  convolution.wOffset = number(0);
  auto set = [&](nn::Dim &height, nn::Dim &across, const std::array<int64_t, 3> &values) {
    height = number(values[1]);
    across = number(values[2]);
  };
  set(convolution.kernelHeight, convolution.kernelWidth, geometry.kernel);
  set(convolution.strideHeight, convolution.strideWidth, geometry.stride);
  set(convolution.dilationHeight, convolution.dilationWidth, geometry.dilation);
  set(convolution.padHeight, convolution.padWidth, geometry.padBegin);
  convolution.inHeight = geometry.in[1];
  convolution.inWidth = geometry.in[2];
  convolution.outHeight = geometry.out[1];
  convolution.outWidth = geometry.out[2];
  return convolution;
}

std::optional<rt::Convolution<nn::Dim>> CallReader::asConvolution(const ConvGeometry &geometry,
                                                                  const nn::PackLoopsAttr &pack) {
  nn::ConvOp conv = geometry.conv;
  std::optional<rt::Convolution<nn::Dim>> convolution = windowsOf(geometry);
  if (!convolution || !isDenseChannelsLast(x, nn::shapeOf(conv.inputType())) ||
      !isDenseChannelsLast(y, nn::shapeOf(conv.resultType())))
    return std::nullopt;
  int64_t width = pack.extent(pack.loopCount() - 1);
  bool isDepthwise = nn::isDepthwise(conv);
  convolution->wOutput = number(1);
  convolution->wChannel = number(isDepthwise ? 0 : width);
  convolution->wTap = number(isDepthwise ? width : geometry.groupChannels * width);
  convolution->wGroup =
      number(isDepthwise ? 1 : geometry.tapCount() * geometry.groupChannels * width);
  return convolution;
}

/// The convolution is the gradient of the input of another one, which goes the other way: it has the
/// inputs of this as outputs, the mirrored weight, and as much padding as makes the extents right.
std::optional<rt::Convolution<nn::Dim>>
CallReader::asDataGradient(const ConvGeometry &geometry,
                           const rt::Convolution<nn::Dim> &convolution) {
  rt::Convolution<nn::Dim> gradient = convolution;
  for (auto [slot, pad] : {std::pair(1, &gradient.padHeight), {2, &gradient.padWidth}}) {
    int64_t reach = geometry.dilation[slot] * (geometry.kernel[slot] - 1);
    if (geometry.stride[slot] != 1 || geometry.padBegin[slot] > reach)
      return std::nullopt;
    *pad = geometry.constant(reach - geometry.padBegin[slot]);
  }
  std::swap(gradient.channels, gradient.outputs);
  std::swap(gradient.inHeight, gradient.outHeight);
  std::swap(gradient.inWidth, gradient.outWidth);
  std::swap(gradient.wChannel, gradient.wOutput);
  return gradient;
}

/// The same of a convolution with a stride, which is one of another shape here (LowerConvTranspose).
std::optional<rt::Convolution<nn::Dim>>
CallReader::asStridedDataGradient(const ConvGeometry &geometry, const nn::PackLoopsAttr &pack) {
  nn::ConvOp conv = geometry.conv;
  auto origin = conv->getAttrOfType<DictionaryAttr>(passes::kTransposedAttr);
  if (!origin || geometry.spatialRank > 2 || conv.getBias() ||
      !body.epilogue.operations().empty() ||
      !isDenseChannelsLast(x, nn::shapeOf(conv.inputType())) ||
      !isDenseChannelsLast(y, nn::shapeOf(conv.resultType())))
    return std::nullopt;
  auto numbersOf = [&](StringRef name) { return origin.getAs<DenseI64ArrayAttr>(name).asArrayRef(); };
  ArrayRef<int64_t> kernelSize = numbersOf("kernel"), strides = numbersOf("strides"),
                    pads = numbersOf("pads");
  rt::Convolution<nn::Dim> gradient;
  int64_t residues = 1, width = pack.extent(pack.loopCount() - 1);
  nn::Dim one = number(1), zero = number(0);
  gradient.inHeight = gradient.inWidth = gradient.outHeight = gradient.outWidth = one;
  gradient.kernelHeight = gradient.kernelWidth = gradient.strideHeight = gradient.strideWidth = one;
  gradient.dilationHeight = gradient.dilationWidth = one;
  gradient.padHeight = gradient.padWidth = zero;
  for (unsigned i = 0; i < geometry.spatialRank; ++i) {
    unsigned slot = geometry.slotOf(i);
    bool isHeight = slot == 1;
    residues *= strides[i];
    (isHeight ? gradient.inHeight : gradient.inWidth) = geometry.out[slot] * strides[i];
    (isHeight ? gradient.outHeight : gradient.outWidth) = geometry.in[slot];
    (isHeight ? gradient.kernelHeight : gradient.kernelWidth) = number(kernelSize[i]);
    (isHeight ? gradient.strideHeight : gradient.strideWidth) = number(strides[i]);
    (isHeight ? gradient.padHeight : gradient.padWidth) = number(pads[i]);
  }
  gradient.batch = geometry.batch;
  gradient.channels = number(geometry.outputs / residues);
  gradient.outputs = number(geometry.channels);
  gradient.groups = number(geometry.groups);
  gradient.wOffset = zero;
  gradient.wChannel = one;
  gradient.wOutput = number(width);
  gradient.wTap = number(geometry.groupChannels * width);
  gradient.wGroup = number(geometry.tapCount() * geometry.groupChannels * width);
  return gradient;
}

std::vector<LibraryCall> CallReader::readConv(nn::ConvOp conv) {
  auto encoding = dyn_cast_if_present<nn::EncodingAttr>(conv.weightType().getEncoding());
  std::optional<int32_t> weight = operandOf(conv.getWeight());
  if (!encoding || !encoding.getPack() || !weight ||
      !readFrame(conv.getX(), conv.getWeight(), conv.getBias(), conv.resultType(), 1))
    return {};
  frame.w = *weight;
  ConvGeometry geometry(conv);
  nn::PackLoopsAttr pack = encoding.getPack();
  std::vector<LibraryCall> calls;
  auto product = asProduct(geometry, pack.extent(pack.loopCount() - 1));
  if (product && (frame.gate < 0 || isResultOneRun(*product))) {
    calls.push_back(frame);
    calls.back().operation = *product;
  }
  // cuDNN has no gelu behind a convolution.
  std::optional<rt::Convolution<nn::Dim>> convolution;
  if (frame.activation != rt::LibraryActivation::GeluTanh)
    convolution = asConvolution(geometry, pack);
  // Gradients of data read a weight that is mirrored in the run.
  bool isMadeInRun = kernel.getInputs()[*weight].getDefiningOp<nn::KernelOp>() != nullptr;
  auto addGradient = [&](const std::optional<rt::Convolution<nn::Dim>> &gradient) {
    if (!gradient)
      return;
    calls.push_back(frame);
    calls.back().pass = rt::ConvolutionPass::DataGradient;
    calls.back().operation = *gradient;
  };
  if (isMadeInRun)
    addGradient(asStridedDataGradient(geometry, pack));
  if (!convolution)
    return calls;
  calls.push_back(frame);
  calls.back().operation = *convolution;
  bool isStrided = conv->hasAttr(passes::kTransposedAttr);
  if (isMadeInRun && !isStrided && frame.bias < 0 &&
      frame.activation == rt::LibraryActivation::None)
    addGradient(asDataGradient(geometry, *convolution));
  return calls;
}

/// Of a pointwise convolution: the gradients of the outputs, turned, times the input.
std::optional<rt::MatrixProduct<nn::Dim>>
CallReader::weightGradientAsProduct(const ConvGeometry &geometry, const nn::StridedView &g) {
  bool isPointwise = geometry.groups == 1 && geometry.isPointwise();
  auto isOne = [](nn::Dim stride) { return nn::constantOf(stride) == 1; };
  if (!isPointwise || !isOne(x.strides[1]) || !isOne(g.strides[1]) ||
      !(isOne(y.strides[1]) || geometry.channels == 1))
    return std::nullopt;
  SmallVector<nn::Dim> extents = {geometry.batch};
  for (unsigned i = 0; i < geometry.spatialRank; ++i)
    extents.push_back(geometry.out[geometry.slotOf(i)]);
  auto ofPositions = [&](const nn::StridedView &view) {
    SmallVector<nn::Dim> strides(view.strides.begin(), view.strides.end());
    strides.erase(strides.begin() + 1);
    return joinedStride(extents, strides);
  };
  std::optional<nn::Dim> xRow = ofPositions(x), gRow = ofPositions(g);
  if (!xRow || !gRow)
    return std::nullopt;
  rt::MatrixProduct<nn::Dim> product;
  product.products = number(1);
  product.rows = number(geometry.outputs);
  product.columns = number(geometry.channels);
  product.depth = nn::product(extents, context);
  bool isOnePosition = nn::constantOf(product.depth) == 1;
  product.xOffset = g.offset;
  product.xRow = isOnePosition ? product.rows : *gRow;
  product.wOffset = x.offset;
  product.wRow = isOnePosition ? product.columns : *xRow;
  product.yOffset = y.offset;
  product.yRow = geometry.outputs == 1 ? product.columns : y.strides[0];
  product.xProduct = product.wProduct = product.yProduct = number(0);
  return product;
}

std::vector<LibraryCall> CallReader::readWeightGradient(nn::ConvWeightGradientOp op) {
  auto space = cast<RankedTensorType>(op.getResult().getType());
  std::optional<nn::StridedView> g = nn::stridedViewOf(op.getG());
  std::optional<int32_t> gOperand = g ? operandOf(g->source) : std::nullopt;
  if (!gOperand || !body.epilogue.operations().empty() ||
      !readFrame(op.getX(), op.getG(), Value(), space, 1))
    return {};
  ConvGeometry geometry(op);
  std::vector<LibraryCall> calls;
  if (auto product = weightGradientAsProduct(geometry, *g)) {
    LibraryCall &call = calls.emplace_back(frame);
    call.x = *gOperand;
    call.transposedX = true;
    call.w = frame.x;
    call.operation = *product;
  }
  frame.w = *gOperand;
  std::optional<rt::Convolution<nn::Dim>> convolution = windowsOf(geometry);
  if (!convolution || !isDenseChannelsLast(x, nn::shapeOf(op.getX().getType())) ||
      !isDenseChannelsLast(*g, nn::shapeOf(op.getG().getType())))
    return calls;
  SmallVector<nn::Dim> taps;
  for (unsigned i = 0; i < geometry.spatialRank; ++i)
    taps.push_back(number(geometry.kernel[geometry.slotOf(i)]));
  std::optional<nn::Dim> wTap = joinedStride(taps, ArrayRef(y.strides).drop_front(2));
  if (!wTap)
    return calls;
  convolution->wOffset = y.offset;
  convolution->wGroup = y.strides[0] * geometry.groupOutputs;
  convolution->wOutput = y.strides[0];
  convolution->wChannel = y.strides[1];
  convolution->wTap = *wTap;
  frame.pass = rt::ConvolutionPass::WeightGradient;
  frame.operation = *convolution;
  calls.push_back(frame);
  return calls;
}
