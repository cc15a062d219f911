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

private:
  nn::Dim number(int64_t value) const { return nn::constantDim(context, value); }
  /// What all calls of the kernel share. False when something of the kernel has no place in a call.
  bool readFrame(Value x, Value w, Value bias, RankedTensorType space, unsigned channelDim);
  bool readTail(Value bias, RankedTensorType space, unsigned channelDim);
  bool isOfCallType(Value value) const;
  bool isDenseChannelsLast(const nn::StridedView &view, const nn::Shape &shape) const;
  std::optional<rt::MatrixProduct<nn::Dim>> asProduct(const ConvGeometry &geometry,
                                                      int64_t panelWidth);
  std::optional<rt::Convolution<nn::Dim>> asConvolution(const ConvGeometry &geometry,
                                                        const nn::PackLoopsAttr &pack);

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

/// Bias, residual, activation: at most one of each, in this order.
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
    if (frame.activation != rt::LibraryActivation::None)
      return false;
    if (auto add = dyn_cast<nn::AddOp>(op)) {
      Value other = add.getLhs() == current ? add.getRhs() : add.getLhs();
      if ((add.getLhs() != current && add.getRhs() != current) || other == current)
        return false;
      std::optional<nn::Access> access =
          nn::accessOf(cast<RankedTensorType>(other.getType()), space, channelDim);
      if (access == nn::Access::PerChannel
              ? !take(frame.bias, other)
              : access != nn::Access::Full || !take(frame.residual, other))
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
  if (matmul.getTransposeLhs() ||
      !readFrame(matmul.getLhs(), matmul.getRhs(), matmul.getBias(), space, rank - 1))
    return {};
  nn::Shape a = nn::shapeOf(matmul.getLhs().getType()), w = nn::shapeOf(rhs),
            r = nn::shapeOf(space);
  rt::MatrixProduct<nn::Dim> product;
  product.rows = a[a.size() - 2];
  product.columns = r.back();
  product.depth = a.back();
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
  if (isOneMatrix && xRow && yRow) {
    // [batch..., rows] is one tall matrix.
    product.rows = nn::product(rowExtents, context);
    product.xRow = *xRow;
    product.yRow = *yRow;
  } else {
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
    product.xRow = product.depth;
    product.yRow = product.columns;
  }
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

std::optional<rt::Convolution<nn::Dim>> CallReader::asConvolution(const ConvGeometry &geometry,
                                                                  const nn::PackLoopsAttr &pack) {
  nn::ConvOp conv = geometry.conv;
  bool isFlat = geometry.kernel[0] == 1 && nn::constantOf(geometry.in[0]) == 1 &&
                nn::constantOf(geometry.out[0]) == 1;
  if (conv.spatialRank() > 2 || !isFlat || geometry.padBegin != geometry.padEnd ||
      !isDenseChannelsLast(x, nn::shapeOf(conv.inputType())) ||
      !isDenseChannelsLast(y, nn::shapeOf(conv.resultType())))
    return std::nullopt;
  int64_t width = pack.extent(pack.loopCount() - 1);
  rt::Convolution<nn::Dim> convolution;
  convolution.batch = geometry.batch;
  convolution.channels = number(geometry.channels);
  convolution.outputs = number(geometry.outputs);
  convolution.groups = number(geometry.groups);
  bool isDepthwise = nn::isDepthwise(conv);
  convolution.wChannel = number(isDepthwise ? 0 : width);
  convolution.wTap = number(isDepthwise ? width : geometry.groupChannels * width);
  convolution.wGroup =
      number(isDepthwise ? 1 : geometry.tapCount() * geometry.groupChannels * width);
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
  if (auto product = asProduct(geometry, pack.extent(pack.loopCount() - 1))) {
    calls.push_back(frame);
    calls.back().operation = *product;
  }
  // cuDNN has no gelu behind a convolution.
  if (frame.activation != rt::LibraryActivation::GeluTanh)
    if (auto convolution = asConvolution(geometry, pack)) {
      calls.push_back(frame);
      calls.back().operation = *convolution;
    }
  return calls;
}

std::vector<LibraryCall> cuda::alternativesOf(nn::KernelOp kernel, const nn::AnchoredBody &body,
                                              const CudaOptions &options) {
  CallReader reader(kernel, body, options);
  if (auto matmul = dyn_cast<nn::MatmulOp>(body.anchor))
    return reader.readMatmul(matmul);
  if (auto conv = dyn_cast<nn::ConvOp>(body.anchor))
    return reader.readConv(conv);
  return {};
}
