// Matrix products: rows of the left operand are the rows of the micro-kernel, one tap whose run is K.
//
// A weight comes in packed panels (ir/Kernel.h, panelsOf). A right operand that is computed by the model is packed here, panel by
// panel into scratch memory, right before the rows that use it: each task owns some panels of one batch entry and walks all rows.

#include "codegen/ConvGeometry.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/Bands.h"
#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/TileLoop.h"
#include "codegen/cpu/VectorLoop.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

/// Rows per block: the row pointers of a block and one panel are in L1 together.
constexpr int64_t kBlockRows = 96;
/// Rows of a panel that are packed together.
constexpr int64_t kPackedRows = 32;

class MatmulEmitter {
public:
  MatmulEmitter(KernelBuilder &b, nn::KernelOp kernel, const nn::AnchoredBody &body)
      : b(b), kernel(kernel), body(body), matmul(cast<nn::MatmulOp>(body.anchor)),
        lhs(cast<RankedTensorType>(matmul.getLhs().getType())),
        rhs(cast<RankedTensorType>(matmul.getRhs().getType())),
        result(cast<RankedTensorType>(matmul.getResult().getType())),
        element(lhs.getElementType()) {}

  FailureOr<EmittedKernel> emit(StringRef symbol);

private:
  LogicalResult plan();
  void emitTask(Value task);
  void packPanel(Value batch, Value panel, Value to);
  /// Elements before the matrix of `type` that the batch entry at hand reads, with matrices of `matrixElements` one after another.
  Value matrixOffset(RankedTensorType type, Value matrixElements);
  /// Pointer to the matrix of an operand or of the result, wherever its strides lead, at the batch entry at hand.
  Value matrixOf(const TensorView &tensor);
  void emitBlock(Value firstRow, Value rows, Value panels, Value beginPanel, Value endPanel);

  Value pointerOf(Value blockArgument) {
    return b.argument(cast<BlockArgument>(blockArgument).getArgNumber());
  }
  Value dim(nn::Dim expr) { return b.dim(expr); }

  KernelBuilder &b;
  nn::KernelOp kernel;
  const nn::AnchoredBody &body;
  nn::MatmulOp matmul;
  RankedTensorType lhs, rhs, result;
  Type element;

  nn::Dim m, n, k, batches;
  bool isPacked = false;    ///< the right operand comes in panels
  bool foldsBatch = false;  ///< one right operand serves all: the batch entries are just more rows
  int64_t vectors = 0, columnsPerPanel = 0;
  nn::Dim rowsOfMatrix, panelCount, rowBlocks, panelChunks;
  int64_t panelsOfTask = 0, blockRows = kBlockRows;
  SmallVector<int64_t> heights;
  nn::Dim tableBytes, panelBytes;

  std::optional<KernelOperands> operands;
  Value batch, table;
  SmallVector<Value> batchIndices;
};

} // namespace

LogicalResult MatmulEmitter::plan() {
  if (matmul.getTransposeLhs() || !nn::isRowMajor(lhs) || !nn::isRowMajor(cast<RankedTensorType>(body.result.getType())) ||
      !nn::writesThroughStrides(matmul, result, nn::storedView(kernel, 0)))
    return kernel.emitOpError("needs row-major operands and no transpose_lhs");
  MLIRContext *context = matmul.getContext();
  nn::Shape a = nn::shapeOf(lhs), w = nn::shapeOf(rhs), r = nn::shapeOf(result);
  m = a[a.size() - 2];
  k = a.back();
  n = r.back();
  batches = nn::constantDim(context, 1);
  for (nn::Dim dim : ArrayRef<nn::Dim>(r).drop_back(2))
    batches = batches * dim;

  int64_t lanes = b.target.lanes(accumulatorType(element).getIntOrFloatBitWidth());
  isPacked = nn::isPacked(rhs);
  if (isPacked) {
    nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(rhs.getEncoding()).getPack();
    columnsPerPanel = pack.extent(pack.loopCount() - 1);
    if (pack != nn::panelsOf(matmul, columnsPerPanel) || columnsPerPanel % lanes)
      return kernel.emitOpError("has a weight whose panels do not fit its target");
  } else {
    if (!nn::isRowMajor(rhs))
      return kernel.emitOpError("needs a right operand in panels or row-major");
    columnsPerPanel = b.target.tileVectors() * lanes;
  }
  vectors = columnsPerPanel / lanes;
  panelCount = n.ceilDiv(columnsPerPanel);

  // With one weight matrix for the whole batch, [batch..., M, K] is one tall matrix.
  bool oneMatrix = llvm::all_of(ArrayRef<nn::Dim>(w).drop_back(2),
                                [](nn::Dim dim) { return nn::constantOf(dim) == 1; });
  bool sameBatch = ArrayRef<nn::Dim>(r).drop_back(2) == ArrayRef<nn::Dim>(a).drop_back(2);
  foldsBatch = isPacked && oneMatrix && sameBatch;
  rowsOfMatrix = foldsBatch ? m * batches : m;

  Bands cut(rowsOfMatrix, kBlockRows);
  blockRows = cut.size;
  for (int64_t height = b.target.tileRows(); height > 0; --height)
    heights.push_back(height);
  if (cut.sizes)
    heights = tileHeights(*cut.sizes, b.target.tileRows());
  rowBlocks = isPacked ? cut.count : nn::constantDim(context, 1);
  std::optional<int64_t> panels = nn::constantOf(panelCount);
  panelsOfTask = isPacked && panels ? panelsPerTask(*panels, nn::constantOf(rowBlocks).value_or(1)) : 1;
  panelChunks = panelCount.ceilDiv(panelsOfTask);

  int64_t tableEntries = isPacked || cut.sizes ? blockRows : kBlockRows;
  tableBytes = nn::constantDim(context, tableEntries * int64_t(sizeof(void *)) + 63) .floorDiv(64) * 64;
  int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  panelBytes = isPacked ? nn::constantDim(context, 0) : k * (columnsPerPanel * elementBytes);
  return success();
}

Value MatmulEmitter::matrixOffset(RankedTensorType type, Value matrixElements) {
  nn::Shape shape = nn::shapeOf(type);
  size_t lead = batchIndices.size() - (shape.size() - 2);
  Value flat = b.i64(0);
  for (size_t i = 0; i + 2 < shape.size(); ++i) {
    Value index = nn::constantOf(shape[i]) == 1 ? b.i64(0) : batchIndices[lead + i];
    flat = b.add(b.mul(flat, dim(shape[i])), index);
  }
  return b.mul(flat, matrixElements);
}

Value MatmulEmitter::matrixOf(const TensorView &tensor) {
  size_t batchDims = tensor.strides.size() - 2, lead = batchIndices.size() - batchDims;
  Value elements = b.i64(0);
  for (size_t i = 0; i < batchDims; ++i)
    if (tensor.type.getDimSize(i) != 1)
      elements = b.add(elements, b.mul(batchIndices[lead + i], tensor.strides[i]));
  return b.offset(tensor.pointer, tensor.storage(), elements);
}

FailureOr<EmittedKernel> MatmulEmitter::emit(StringRef symbol) {
  if (failed(plan()))
    return failure();
  b.beginKernel(symbol);
  operands.emplace(b, kernel);
  table = b.scratch;
  b.loop(b.beginTask, b.endTask, [&](Value task) { emitTask(task); });
  b.endKernel();
  nn::Dim tasks = (foldsBatch ? nn::constantDim(matmul.getContext(), 1) : batches) * panelChunks * rowBlocks;
  return EmittedKernel{tasks, tableBytes + panelBytes};
}

void MatmulEmitter::emitTask(Value task) {
  nn::Dim one = nn::constantDim(matmul.getContext(), 1);
  SmallVector<Value> place = b.delinearize(
      task, {dim(foldsBatch ? one : batches), dim(panelChunks), dim(rowBlocks)});
  batch = place[0];
  batchIndices.clear();
  if (!foldsBatch) {
    SmallVector<Value> extents;
    nn::Shape shape = nn::shapeOf(result);
    for (nn::Dim extent : ArrayRef<nn::Dim>(shape).drop_back(2))
      extents.push_back(dim(extent));
    if (!extents.empty())
      batchIndices = b.delinearize(batch, extents);
  }
  Value beginPanel = b.mul(place[1], b.i64(panelsOfTask));
  Value endPanel = b.min(b.add(beginPanel, b.i64(panelsOfTask)), dim(panelCount));
  Value rows = dim(rowsOfMatrix);
  if (isPacked) {
    Value panels = pointerOf(matmul.getRhs());
    if (!foldsBatch)
      panels = b.offset(panels, element,
                        matrixOffset(rhs, b.product({dim(panelCount), dim(k), b.i64(columnsPerPanel)})));
    Value first = b.mul(place[2], b.i64(blockRows));
    emitBlock(first, b.min(b.i64(blockRows), b.sub(rows, first)), panels, beginPanel, endPanel);
    return;
  }
  // One panel per task: pack it, then walk all rows in blocks.
  Value packed = b.offset(b.scratch, b.getI8Type(), dim(tableBytes));
  packPanel(batch, beginPanel, packed);
  // The block addresses panel p at panels + p * panel elements; the packed one stands alone, so it is rebased.
  Value panelElements = b.mul(dim(k), b.i64(columnsPerPanel));
  Value panels = b.offset(packed, element, b.sub(b.i64(0), b.mul(beginPanel, panelElements)));
  b.loop(b.i64(0), rows, b.i64(blockRows), [&](Value first) {
    emitBlock(first, b.min(b.i64(blockRows), b.sub(rows, first)), panels, beginPanel, endPanel);
  });
}

/// Columns [panel * columns, ...) of the right operand, K-major, zero beyond N.
void MatmulEmitter::packPanel(Value, Value panel, Value to) {
  bool transposed = matmul.getTransposeRhs();
  const TensorView &view = operands->view(matmul.getRhs());
  Value from = matrixOf(view);
  Value rowStride = view.strides[view.strides.size() - (transposed ? 1 : 2)];
  Value columnStride = view.strides[view.strides.size() - (transposed ? 2 : 1)];
  Value firstColumn = b.mul(panel, b.i64(columnsPerPanel));
  Value valid = b.min(b.i64(columnsPerPanel), b.sub(dim(n), firstColumn));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
  Value width = b.i64(columnsPerPanel);
  auto placeOf = [&](Value row, Value column) {
    return b.offset(from, element, b.add(b.mul(row, rowStride), b.mul(b.add(firstColumn, column), columnStride)));
  };
  auto targetOf = [&](Value row, Value column) { return b.offset(to, element, b.add(b.mul(row, width), column)); };
  if (isConstantIntValue(columnStride, 1)) {
    int64_t bits = element.getIntOrFloatBitWidth(), lanes = b.target.lanes(bits);
    b.loop(b.i64(0), dim(k), [&](Value row) {
      vectorLoop(b, b.i64(0), valid, lanes, bits, [&](Value column, int64_t count, Value mask) {
        Value source = placeOf(row, column), target = targetOf(row, column);
        if (count == 1)
          b.store(b.load(element, source), target);
        else
          b.storeVector(b.loadVector(VectorType::get({lanes}, element), source, mask), target, mask);
      });
    });
  } else {
    // Block by block, whose part of the panel stays in L1 while column after column is read along K.
    b.loop(b.i64(0), dim(k), b.i64(kPackedRows), [&](Value first) {
      Value end = b.min(b.add(first, b.i64(kPackedRows)), dim(k));
      b.loop(b.i64(0), valid, [&](Value column) {
        b.loop(first, end, [&](Value row) { b.store(b.load(element, placeOf(row, column)), targetOf(row, column)); });
      });
    });
  }
  b.loop(b.i64(0), dim(k), [&](Value row) {
    b.loop(valid, width, [&](Value column) {
      b.store(zero, b.offset(to, element, b.add(b.mul(row, width), column)));
    });
  });
}

void MatmulEmitter::emitBlock(Value firstRow, Value rows, Value panels, Value beginPanel, Value endPanel) {
  Value rowElements = dim(k);
  const TensorView &a = operands->view(matmul.getLhs());
  Value matrix = foldsBatch ? a.pointer : matrixOf(a);
  bool isDense = isa<BlockArgument>(matmul.getLhs());
  b.loop(b.i64(0), rows, [&](Value row) {
    Value number = b.add(firstRow, row), elements;
    if (!foldsBatch || isDense) {
      elements = b.mul(number, isDense ? rowElements : a.strides[a.strides.size() - 2]);
    } else {
      // Rows of different batch entries lie where their strides lead.
      SmallVector<Value> index = b.delinearize(number, ArrayRef<Value>(a.extents).drop_back());
      elements = b.i64(0);
      for (auto [position, stride] : llvm::zip(index, a.strides))
        elements = b.add(elements, b.mul(position, stride));
    }
    b.store(b.offset(matrix, element, elements), b.offset(table, b.pointerType(), row));
  });

  auto resultType = cast<RankedTensorType>(body.result.getType());
  MicroKernelSpec spec;
  spec.vectors = vectors;
  spec.hasBias = static_cast<bool>(matmul.getBias());
  spec.element = element;
  spec.stored = storageType(resultType.getElementType());
  spec.chain = &body.epilogue;
  spec.chainType = result;
  spec.channelDim = nn::channelDimOf(matmul);

  TileBlock block;
  block.table = table;
  block.tableStride = b.i64(blockRows);
  block.taps = b.i64(1);
  block.run = rowElements;
  block.rows = rows;
  block.heights = heights;
  block.panels = panels;
  block.beginPanel = beginPanel;
  block.endPanel = endPanel;
  block.columns = dim(n);
  if (matmul.getBias())
    block.bias = pointerOf(matmul.getBias());
  // With the batch folded into the rows they are one run: the innermost row stride is that of them all.
  const TensorView &stored = operands->result(0);
  block.outStride = stored.strides[stored.strides.size() - 2];
  Value out = foldsBatch ? stored.pointer : matrixOf(stored);
  block.fullStride = dim(n);
  Value resultRow = foldsBatch ? firstRow : b.add(b.mul(batch, dim(m)), firstRow);
  auto fullPlace = [&](Value row, Value column) {
    return b.add(b.mul(b.add(resultRow, row), dim(n)), column);
  };
  block.outAt = [&](Value row, Value column) {
    Value place = b.add(b.mul(b.add(firstRow, row), block.outStride), column);
    return b.offset(out, spec.stored, place);
  };
  block.operandAt = [&](Value operand, Value row, Value column) -> Value {
    auto type = cast<RankedTensorType>(operand.getType());
    switch (*nn::accessOf(type, spec.chainType, spec.channelDim)) {
    case nn::Access::Scalar:
      return pointerOf(operand);
    case nn::Access::PerChannel:
      return b.offset(pointerOf(operand), type.getElementType(), column);
    case nn::Access::Full:
      return b.offset(pointerOf(operand), type.getElementType(), fullPlace(row, column));
    }
    llvm_unreachable("every access is handled");
  };
  emitTiles(b, spec, block);
}

FailureOr<EmittedKernel> codegen::emitMatmul(KernelBuilder &builder, nn::KernelOp kernel, StringRef symbol) {
  FailureOr<nn::AnchoredBody> body = nn::readAnchoredBody(kernel);
  if (failed(body) || body->pool)
    return kernel.emitOpError("is not a matrix product with an elementwise epilogue");
  return MatmulEmitter(builder, kernel, *body).emit(symbol);
}
