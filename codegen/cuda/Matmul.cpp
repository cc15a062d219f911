// Matrix products, batched or not: a packed weight comes with its columns side by side (ir/Kernel.h, panelsOf, in one panel), a right
// operand that the model computes is read where it lies, transposed or not.

#include "codegen/cuda/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

class MatmulCode : public Contraction {
public:
  MatmulCode(KernelCode &code, nn::AnchoredBody body, bool isAligned)
      : Contraction(code, body), isAligned(isAligned), matmul(cast<nn::MatmulOp>(body.anchor)),
        lhs(cast<RankedTensorType>(matmul.getLhs().getType())), rhs(cast<RankedTensorType>(matmul.getRhs().getType())),
        space(cast<RankedTensorType>(matmul.getResult().getType())) {}

  LogicalResult plan();

protected:
  void beginProduct() override;
  SmallVector<std::pair<std::string, Value>> rowValues(Value row) override;
  Source leftSource(Value depth, ArrayRef<Value> rowValues) override;
  Source rightSource(Value depth, Value column) override;
  void storeTile() override;

private:
  void planVectors(const nn::StridedView &left, const std::optional<nn::StridedView> &right);
  /// Columns of the packed weight, some of which may be padding.
  int64_t panelWidth() {
    nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(rhs.getEncoding()).getPack();
    return pack.extent(pack.loopCount() - 1);
  }
  /// The place of a matrix of `memory` for the batch entry at hand.
  Value matrixOf(RankedTensorType type, const Memory &memory);
  /// The place of row `row` of `memory`, its matrix included.
  Value rowPlace(RankedTensorType type, const Memory &memory, Value row, bool isWhole);

  bool isAligned;
  nn::MatmulOp matmul;
  RankedTensorType lhs, rhs, space;
  size_t kDim = 0; ///< of lhs
  bool isPacked = false, foldsBatch = false;
  bool leftIsWhole = false, resultIsWhole = false; ///< row-major without gaps
  Memory left, right, result;
  SmallVector<Value> batch;
};

} // namespace

LogicalResult MatmulCode::plan() {
  nn::Shape a = nn::shapeOf(lhs), w = nn::shapeOf(rhs), r = nn::shapeOf(space);
  size_t mDim = lhs.getRank() - (matmul.getTransposeLhs() ? 1 : 2);
  kDim = 2 * lhs.getRank() - 3 - mDim;
  nn::Dim m = a[mDim];
  depth = a[kDim];
  columns = r.back();
  element = lhs.getElementType();
  products = nn::constantDim(code.getContext(), 1);
  for (nn::Dim dim : ArrayRef<nn::Dim>(r).drop_back(2))
    products = products * dim;

  std::optional<nn::StridedView> leftView = nn::stridedViewOf(matmul.getLhs()), rightView;
  isPacked = nn::isPacked(rhs);
  if (!leftView || !isa<BlockArgument>(leftView->source))
    return code.kernel.emitOpError("needs a left operand in memory");
  if (isPacked) {
    nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(rhs.getEncoding()).getPack();
    int64_t width = pack.extent(pack.loopCount() - 1);
    if (pack != nn::panelsOf(matmul, width) || width < *nn::constantOf(columns))
      return code.kernel.emitOpError("needs a weight in one panel (pack-weights)");
  } else {
    rightView = nn::stridedViewOf(matmul.getRhs());
    if (!rightView || !isa<BlockArgument>(rightView->source))
      return code.kernel.emitOpError("needs a right operand in memory");
  }
  // With one weight matrix for the whole batch, [batch..., M, K] is one tall matrix.
  bool oneMatrix = llvm::all_of(ArrayRef<nn::Dim>(w).drop_back(2), [](nn::Dim dim) { return nn::constantOf(dim) == 1; });
  bool sameBatch = ArrayRef<nn::Dim>(r).drop_back(2) == ArrayRef<nn::Dim>(a).drop_back(2);
  foldsBatch = oneMatrix && sameBatch && !matmul.getTransposeLhs();
  rows = foldsBatch ? m * products : m;
  if (foldsBatch)
    products = nn::constantDim(code.getContext(), 1);

  leftName = "x";
  rightName = isPacked ? "weight" : "b";
  code.nameOperand(leftView->source, "x");
  code.nameOperand(isPacked ? matmul.getRhs() : rightView->source, rightName);
  if (matmul.getBias())
    code.nameOperand(matmul.getBias(), "bias");
  nameChainOperands(body.epilogue, space, space.getRank() - 1);
  planVectors(*leftView, rightView);
  left = *code.memoryOf(matmul.getLhs());
  if (!isPacked)
    right = *code.memoryOf(matmul.getRhs());
  result = code.resultMemory(0);
  leftIsWhole = isa<BlockArgument>(matmul.getLhs()) && nn::isRowMajor(lhs);
  resultIsWhole = code.storedValue(0) == code.kernel.getTerminator()->getOperand(0);
  formula = std::string("y = x ") + (matmul.getTransposeLhs() ? "transposed " : "") + "times " + rightName + (matmul.getTransposeRhs() && !isPacked ? " transposed" : "");
  return success();
}

void MatmulCode::planVectors(const nn::StridedView &left, const std::optional<nn::StridedView> &right) {
  size_t last = rhs.getRank() - 1;
  leftAlongDepth = !matmul.getTransposeLhs();
  rightAlongDepth = !isPacked && nn::constantOf(right->strides[matmul.getTransposeRhs() ? last : last - 1]) == 1;
  if (!isAligned)
    return;
  auto vectorAlong = [&](const nn::StridedView &view, size_t unit, nn::Dim extent) {
    if (nn::constantOf(view.strides[unit]) != 1)
      return int64_t(1);
    SmallVector<nn::Dim> multiples{view.offset, extent};
    for (auto [dim, stride] : llvm::enumerate(view.strides))
      if (dim != unit)
        multiples.push_back(stride);
    return vectorThatDivides(multiples);
  };
  leftVector = vectorAlong(left, left.strides.size() - 1, leftAlongDepth ? depth : rows);
  if (isPacked)
    rightVector = vectorThatDivides({nn::constantDim(code.getContext(), panelWidth())});
  else
    rightVector = vectorAlong(*right, rightAlongDepth == matmul.getTransposeRhs() ? last : last - 1, rightAlongDepth ? depth : columns);
  nn::StridedView stored = nn::storedView(code.kernel, 0);
  storeVector = vectorAlong(stored, stored.strides.size() - 1, columns);
}

void MatmulCode::beginProduct() {
  if (foldsBatch)
    return;
  SmallVector<Value> extents;
  nn::Shape shape = nn::shapeOf(space);
  for (nn::Dim extent : ArrayRef<nn::Dim>(shape).drop_back(2))
    extents.push_back(code.dim(extent));
  if (!extents.empty())
    batch = code.delinearize(product, extents);
}

Value MatmulCode::matrixOf(RankedTensorType type, const Memory &memory) {
  Value place = memory.offset;
  size_t lead = batch.size() - (type.getRank() - 2);
  for (int64_t dim = 0; dim + 2 < type.getRank(); ++dim)
    if (type.getDimSize(dim) != 1)
      place = code.add(place, code.mul(batch[lead + dim], memory.strides[dim]));
  return place;
}

Value MatmulCode::rowPlace(RankedTensorType type, const Memory &memory, Value row, bool isWhole) {
  Value stride = memory.strides[type.getRank() - 2];
  if (!foldsBatch)
    return code.add(matrixOf(type, memory), code.mul(row, stride));
  if (isWhole)
    return code.add(memory.offset, code.mul(row, stride));
  // Rows of different batch entries lie where their strides lead.
  SmallVector<Value> extents;
  nn::Shape shape = nn::shapeOf(type);
  for (nn::Dim extent : ArrayRef<nn::Dim>(shape).drop_back())
    extents.push_back(code.dim(extent));
  Value place = memory.offset;
  for (auto [position, along] : llvm::zip(code.delinearize(row, extents), memory.strides))
    place = code.add(place, code.mul(position, along));
  return place;
}

SmallVector<std::pair<std::string, Value>> MatmulCode::rowValues(Value row) {
  return {{"x_row", rowPlace(lhs, left, row, leftIsWhole)}};
}

Contraction::Source MatmulCode::leftSource(Value depth, ArrayRef<Value> rowValues) {
  if (!leftAlongDepth) {
    Value row = code.add(matrixOf(lhs, left), code.mul(depth, left.strides[kDim]));
    return {{}, left.pointer, code.add(row, code.mul(rowValues[0], left.strides.back()))};
  }
  return {{}, left.pointer, code.add(rowValues[0], code.mul(depth, left.strides.back()))};
}

Contraction::Source MatmulCode::rightSource(Value depth, Value column) {
  if (!isPacked) {
    size_t last = rhs.getRank() - 1, alongDepth = matmul.getTransposeRhs() ? last : last - 1;
    Value place = code.add(foldsBatch ? right.offset : matrixOf(rhs, right), code.mul(depth, right.strides[alongDepth]));
    return {{}, right.pointer, code.add(place, code.mul(column, right.strides[2 * last - 1 - alongDepth]))};
  }
  Value matrix = code.size(0);
  if (!foldsBatch) {
    size_t lead = batch.size() - (rhs.getRank() - 2);
    for (int64_t dim = 0; dim + 2 < rhs.getRank(); ++dim) {
      matrix = code.mul(matrix, code.size(rhs.getDimSize(dim)));
      if (rhs.getDimSize(dim) != 1)
        matrix = code.add(matrix, batch[lead + dim]);
    }
  }
  Value row = code.add(code.mul(matrix, code.dim(this->depth)), depth);
  Value width = code.size(panelWidth());
  return {{}, code.pointerOf(matmul.getRhs()), code.add(code.mul(row, width), column)};
}

void MatmulCode::storeTile() {
  unsigned channelDim = space.getRank() - 1;
  Type stored = cast<RankedTensorType>(body.result.getType()).getElementType();
  code.line("#pragma unroll");
  code.open("for (int i = 0; i < kRows; ++i)");
  Value row = rowOf(code.index("i"));
  code.declare(row, "row");
  skipRowsOutside(row);
  Value natural = foldsBatch ? row : code.add(code.mul(product, code.dim(rows)), row);
  forColumns([&](Value column, Value sumColumn) {
    Value place = code.add(rowPlace(space, result, row, resultIsWhole), code.mul(column, result.strides.back()));
    storeColumns(stored, result, place, [&] {
      code.lanes = storeVector;
      Value root = sumAt("i", sumColumn);
      if (matmul.getBias())
        root = arith::AddFOp::create(code, root, code.readMemory(element, code.pointerOf(matmul.getBias()), column, 0));
      return applyChain(body.epilogue, space, channelDim, root, natural, column);
    });
  });
  code.close();
}

FailureOr<EmittedKernel> cuda::emitMatmul(KernelCode &code, bool isAligned) {
  FailureOr<nn::AnchoredBody> body = nn::readAnchoredBody(code.kernel);
  if (failed(body) || body->pool)
    return code.kernel.emitOpError("is not a matrix product with an elementwise epilogue");
  return emitContraction<MatmulCode>(code, *body, isAligned);
}
