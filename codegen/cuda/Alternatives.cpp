// Reads kernels as calls of libraries; see Alternatives.h.

#include "codegen/cuda/CallReader.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

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
