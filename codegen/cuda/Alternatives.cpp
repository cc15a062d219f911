// Reads kernels as calls of libraries; see Alternatives.h.

#include "codegen/cuda/Alternatives.h"

#include "codegen/ConvGeometry.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

/// The number of an argument of the kernel, or nothing for any other value.
std::optional<int32_t> operandOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? std::optional<int32_t>(argument.getArgNumber()) : std::nullopt;
}

class CallReader {
public:
  CallReader(nn::KernelOp kernel, const nn::AnchoredBody &body, const CudaOptions &options)
      : kernel(kernel), body(body), options(options), context(kernel.getContext()) {}

  std::vector<LibraryCall> readMatmul(nn::MatmulOp matmul);
  std::vector<LibraryCall> readConv(nn::ConvOp conv);
  std::vector<LibraryCall> readWeightGradient(nn::ConvWeightGradientOp gradient);

private:
  nn::Dim number(int64_t value) const { return nn::constantDim(context, value); }
  /// What all calls of the kernel share. False when something of the kernel has no place in a call.
  bool readFrame(Value x, Value w, Value bias, RankedTensorType space, unsigned channelDim);
  bool readTail(Value bias, RankedTensorType space, unsigned channelDim);
  bool isOfCallType(Value value) const;
  static std::optional<nn::Access> accessOf(Value value, RankedTensorType space,
                                            unsigned channelDim);
  static bool isWhole(Value value, RankedTensorType space, unsigned channelDim) {
    return accessOf(value, space, channelDim) == nn::Access::Full;
  }
  /// What stands behind a library's function writes its result as one run of elements.
  bool isResultOneRun(const rt::MatrixProduct<nn::Dim> &product) const {
    return product.yOffset == number(0) && product.yRow == product.columns &&
           (nn::constantOf(product.products) == 1 ||
            product.yProduct == product.rows * product.columns);
  }
  bool isDenseChannelsLast(const nn::StridedView &view, const nn::Shape &shape) const;
  std::optional<rt::MatrixProduct<nn::Dim>> asProduct(const ConvGeometry &geometry,
                                                      int64_t panelWidth);
  std::optional<rt::MatrixProduct<nn::Dim>> weightGradientAsProduct(const ConvGeometry &geometry,
                                                                    const nn::StridedView &g);
  /// All but the place of the weight; nothing for what a library's convolution is not.
  std::optional<rt::Convolution<nn::Dim>> windowsOf(const ConvGeometry &geometry) const;
  std::optional<rt::Convolution<nn::Dim>> asConvolution(const ConvGeometry &geometry,
                                                        const nn::PackLoopsAttr &pack);
  static std::optional<rt::Convolution<nn::Dim>>
  asDataGradient(const ConvGeometry &geometry, const rt::Convolution<nn::Dim> &convolution);

  nn::KernelOp kernel;
  const nn::AnchoredBody &body;
  const CudaOptions &options;
  MLIRContext *context;
  LibraryCall frame;
  nn::StridedView x, y;
};

} // namespace

bool CallReader::isOfCallType(Value value) const {
  return nn::dtypeOf(cast<RankedTensorType>(value.getType()).getElementType()) == frame.dtype;
}

std::optional<nn::Access> CallReader::accessOf(Value value, RankedTensorType space,
                                               unsigned channelDim) {
  return nn::accessOf(cast<RankedTensorType>(value.getType()), space, channelDim);
}

/// Bias, residual, then an activation or the gradient of a relu: at most one of each, in this order.
bool CallReader::readTail(Value bias, RankedTensorType space, unsigned channelDim) {
  auto take = [&](int32_t &place, Value value) {
    std::optional<int32_t> operand = operandOf(value);
    if (place >= 0 || !operand || !isOfCallType(value))
      return false;
    place = *operand;
    return true;
  };
  if (bias && !take(frame.bias, bias))
    return false;
  Value current = body.epilogue.getRoot();
  for (Operation *op : body.epilogue.operations()) {
    if (frame.activation != rt::LibraryActivation::None || frame.gate >= 0)
      return false;
    if (auto derivative = dyn_cast<nn::DerivativeOp>(op)) {
      // Of relu's input or its result: both are positive in the same places.
      ValueRange inputs = derivative.getInputs();
      if (derivative.getOf() != "relu" || inputs.size() != 2 || inputs[1] != current ||
          inputs[0] == current || !isWhole(inputs[0], space, channelDim) ||
          !take(frame.gate, inputs[0]))
        return false;
    } else if (auto add = dyn_cast<nn::AddOp>(op)) {
      Value other = add.getLhs() == current ? add.getRhs() : add.getLhs();
      if ((add.getLhs() != current && add.getRhs() != current) || other == current)
        return false;
      bool isPerChannel = accessOf(other, space, channelDim) == nn::Access::PerChannel;
      if (isPerChannel ? !take(frame.bias, other)
                       : !isWhole(other, space, channelDim) || !take(frame.residual, other))
        return false;
    } else if (op->getNumOperands() != 1 || op->getOperand(0) != current) {
      return false;
    } else if (isa<nn::ReluOp>(op)) {
      frame.activation = rt::LibraryActivation::Relu;
    } else if (auto gelu = dyn_cast<nn::GeluOp>(op); gelu && gelu.getTanhApproximation()) {
      frame.activation = rt::LibraryActivation::GeluTanh;
    } else {
      return false;
    }
    current = op->getResult(0);
  }
  return true;
}

bool CallReader::readFrame(Value left, Value weight, Value bias, RankedTensorType space,
                           unsigned channelDim) {
  std::optional<DType> dtype = nn::dtypeOf(cast<RankedTensorType>(left.getType()).getElementType());
  if (body.pool || kernel.getNumResults() != 1 || !dtype || !rt::isCallType(*dtype))
    return false;
  frame.dtype = *dtype;
  frame.mayRoundToTf32 = options.fp32 == Fp32::Tf32;
  std::optional<nn::StridedView> leftView = nn::stridedViewOf(left);
  std::optional<int32_t> source = leftView ? operandOf(leftView->source) : std::nullopt;
  if (!source || !isOfCallType(weight) || !isOfCallType(kernel.getResult(0)))
    return false;
  frame.x = *source;
  x = *leftView;
  y = nn::storedView(kernel, 0);
  return readTail(bias, space, channelDim);
}

std::vector<LibraryCall> CallReader::readMatmul(nn::MatmulOp matmul) {
  auto rhs = cast<RankedTensorType>(matmul.getRhs().getType()),
       space = cast<RankedTensorType>(matmul.getResult().getType());
  size_t rank = space.getRank(), last = rhs.getRank() - 1;
  if (!readFrame(matmul.getLhs(), matmul.getRhs(), matmul.getBias(), space, rank - 1))
    return {};
  frame.transposedX = matmul.getTransposeLhs();
  nn::Shape a = nn::shapeOf(matmul.getLhs().getType()), w = nn::shapeOf(rhs),
            r = nn::shapeOf(space);
  rt::MatrixProduct<nn::Dim> product;
  product.rows = a[a.size() - (frame.transposedX ? 1 : 2)];
  product.columns = r.back();
  product.depth = a[a.size() - (frame.transposedX ? 2 : 1)];
  if (x.strides.back() != number(1) || y.strides.back() != number(1))
    return {};
  SmallVector<nn::Dim> wStrides(rhs.getRank());
  if (nn::isPacked(rhs)) {
    nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(rhs.getEncoding()).getPack();
    std::optional<int32_t> operand = operandOf(matmul.getRhs());
    if (!operand)
      return {};
    frame.w = *operand;
    product.wOffset = number(0);
    product.wRow = number(pack.extent(pack.loopCount() - 1));
    nn::Dim stride = product.depth * product.wRow;
    for (size_t dim = last - 1; dim-- > 0; stride = stride * w[dim])
      wStrides[dim] = stride;
  } else {
    std::optional<nn::StridedView> view = nn::stridedViewOf(matmul.getRhs());
    std::optional<int32_t> operand = view ? operandOf(view->source) : std::nullopt;
    size_t alongDepth = matmul.getTransposeRhs() ? last : last - 1,
           alongColumns = 2 * last - 1 - alongDepth;
    if (!operand)
      return {};
    frame.w = *operand;
    product.wOffset = view->offset;
    frame.transposed = view->strides[alongDepth] == number(1);
    if (!frame.transposed && view->strides[alongColumns] != number(1))
      return {};
    product.wRow = view->strides[frame.transposed ? alongColumns : alongDepth];
    wStrides.assign(view->strides.begin(), view->strides.end());
  }

  // An operand with fewer batch dimensions, or with one of extent 1, is the same for all entries.
  ArrayRef<nn::Dim> batch = ArrayRef<nn::Dim>(r).drop_back(2);
  auto batchStrides = [&](const nn::Shape &shape, ArrayRef<nn::Dim> strides) {
    SmallVector<nn::Dim> result(batch.size(), number(0));
    size_t lead = batch.size() + 2 - shape.size();
    for (size_t dim = 0; dim + 2 < shape.size(); ++dim)
      if (nn::constantOf(shape[dim]) != 1)
        result[lead + dim] = strides[dim];
    return result;
  };
  SmallVector<nn::Dim> xBatch = batchStrides(a, x.strides), wBatch = batchStrides(w, wStrides),
                       yBatch = batchStrides(r, y.strides);
  product.xOffset = x.offset;
  product.yOffset = y.offset;
  product.products = number(1);
  product.xProduct = product.wProduct = product.yProduct = number(0);
  product.xRow = x.strides[a.size() - 2];
  product.yRow = y.strides[rank - 2];
  bool isOneMatrix = llvm::all_of(wBatch, [&](nn::Dim stride) { return stride == number(0); });
  auto withRows = [&](ArrayRef<nn::Dim> strides, nn::Dim row) {
    SmallVector<nn::Dim> all(strides.begin(), strides.end());
    all.push_back(row);
    return all;
  };
  SmallVector<nn::Dim> rowExtents(batch.begin(), batch.end());
  rowExtents.push_back(product.rows);
  std::optional<nn::Dim> xRow = joinedStride(rowExtents, withRows(xBatch, product.xRow));
  std::optional<nn::Dim> yRow = joinedStride(rowExtents, withRows(yBatch, product.yRow));
  if (isOneMatrix && xRow && yRow && !frame.transposedX) {
    // [batch..., rows] is one tall matrix.
    product.rows = nn::product(rowExtents, context);
    product.xRow = *xRow;
    product.yRow = *yRow;
  } else if (!batch.empty()) {
    std::optional<nn::Dim> xProduct = joinedStride(batch, xBatch),
                           wProduct = joinedStride(batch, wBatch),
                           yProduct = joinedStride(batch, yBatch);
    if (!xProduct || !wProduct || !yProduct)
      return {};
    product.products = nn::product(batch, context);
    product.xProduct = *xProduct;
    product.wProduct = *wProduct;
    product.yProduct = *yProduct;
  }
  // With one row any distance between rows will do; a library wants one that fits.
  if (frame.transposed && nn::constantOf(product.columns) == 1)
    product.wRow = product.depth;
  if (!frame.transposed && nn::constantOf(product.depth) == 1)
    product.wRow = nn::isPacked(rhs) ? product.wRow : product.columns;
  if (nn::constantOf(product.rows) == 1) {
    if (!frame.transposedX)
      product.xRow = product.depth;
    product.yRow = product.columns;
  }
  if (frame.transposedX && nn::constantOf(product.depth) == 1)
    product.xRow = product.rows;
  if (frame.gate >= 0 && !isResultOneRun(product))
    return {};
  frame.operation = product;
  return {frame};
}

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
  bool isPointwise = geometry.groups == 1 && geometry.tapCount() == 1 && geometry.neverPads() &&
                     llvm::all_of(geometry.stride, [](int64_t stride) { return stride == 1; });
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
  if (!convolution)
    return calls;
  calls.push_back(frame);
  calls.back().operation = *convolution;
  // Gradients of data read a weight that is mirrored in the run.
  bool isMadeInRun = kernel.getInputs()[*weight].getDefiningOp<nn::KernelOp>() != nullptr;
  if (isMadeInRun && frame.bias < 0 && frame.activation == rt::LibraryActivation::None)
    if (auto gradient = asDataGradient(geometry, *convolution)) {
      calls.push_back(frame);
      calls.back().pass = rt::ConvolutionPass::DataGradient;
      calls.back().operation = *gradient;
    }
  return calls;
}

/// Of a pointwise convolution: the gradients of the outputs, turned, times the input.
std::optional<rt::MatrixProduct<nn::Dim>>
CallReader::weightGradientAsProduct(const ConvGeometry &geometry, const nn::StridedView &g) {
  bool isPointwise = geometry.groups == 1 && geometry.tapCount() == 1 && geometry.neverPads() &&
                     llvm::all_of(geometry.stride, [](int64_t stride) { return stride == 1; });
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

std::vector<LibraryCall> cuda::alternativesOf(nn::KernelOp kernel, const nn::AnchoredBody &body,
                                              const CudaOptions &options) {
  CallReader reader(kernel, body, options);
  if (auto matmul = dyn_cast<nn::MatmulOp>(body.anchor))
    return reader.readMatmul(matmul);
  if (auto conv = dyn_cast<nn::ConvOp>(body.anchor))
    return reader.readConv(conv);
  if (auto gradient = dyn_cast<nn::ConvWeightGradientOp>(body.anchor))
    return reader.readWeightGradient(gradient);
  return {};
}
