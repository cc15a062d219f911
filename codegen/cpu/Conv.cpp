// Convolution kernels: an implicit matrix product of output positions by output channels, on channels-last tensors.
//
//   rows     output positions of one image, a band of them per task
//   columns  output channels of one group, in packed weight panels (ir/Kernel.h, panelsOf)
//   taps     kernel positions; per tap a table holds, for each row, the pointer to its input channels. A position outside the
//            input points to zeros, so padding costs nothing in the inner loop, and stride and dilation only change pointers.
//
// Few-channel inputs, such as the image of a first layer, would give runs of one or three elements per tap. There the input rows
// of the band are first copied into scratch memory, padded and channels-last whatever order they came in, and one tap covers a
// whole kernel row: kernel width x channels contiguous elements.
//
// With a pool in the kernel the task covers the convolution rows that its pooled rows need; they live in scratch memory only.

#include "codegen/cpu/ChainOperand.h"
#include "codegen/ConvGeometry.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/Bands.h"
#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/PoolWindow.h"
#include "codegen/cpu/TileLoop.h"
#include "codegen/cpu/VectorLoop.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

/// Positions of a direct band: enough to reuse a panel many times, few enough for their input to stay in L2.
constexpr int64_t kBandPositions = 128;
/// Positions of a band whose input is copied: more, since neighbouring bands copy the input rows that they share twice.
constexpr int64_t kCopiedBandPositions = 448;
/// Channels below which the input rows are copied.
constexpr int64_t kFewChannels = 16;

class ConvEmitter {
public:
  ConvEmitter(KernelBuilder &b, nn::KernelOp kernel, const nn::AnchoredBody &body)
      : b(b), kernel(kernel), body(body), geometry(cast<nn::ConvOp>(body.anchor)),
        conv(geometry.conv), element(conv.inputType().getElementType()) {}

  FailureOr<EmittedKernel> emit(StringRef symbol);

private:
  LogicalResult plan();
  LogicalResult planPool();
  void planBands();
  void planScratch();

  void emitTask(Value task);
  void fillDirectTable(Value firstPosition, Value positions);
  void fillCopiedTable();
  void copyInputRows(Value firstOutRow, Value outRows);
  void emitBlock(Value firstPosition, Value positions, Value beginPanel, Value endPanel);
  void emitPooledTask(Value firstPooledRow, Value beginPanel, Value endPanel);
  void emitPool(Value firstPooledRow, Value endPooledRow, Value firstRow, Value beginPanel, Value endPanel);

  Value pointerOf(Value blockArgument) {
    return b.argument(cast<BlockArgument>(blockArgument).getArgNumber());
  }
  Value dim(nn::Dim expr) { return b.dim(expr); }
  /// Bytes rounded up so that what follows in scratch memory stays aligned.
  nn::Dim aligned(nn::Dim bytes) const { return bytes.ceilDiv(64) * 64; }

  KernelBuilder &b;
  nn::KernelOp kernel;
  const nn::AnchoredBody &body;
  ConvGeometry geometry;
  nn::ConvOp conv;
  Type element;

  // The plan: how the work is cut and where scratch memory goes.
  bool copiesInput = false;    ///< input rows are copied, padded and channels-last
  bool byRows = false;         ///< bands are whole output rows
  int64_t vectors = 0;         ///< vectors per panel row
  int64_t columnsPerPanel = 0;
  int64_t panels = 0;          ///< per group
  int64_t panelsOfTask = 0;
  nn::Dim bandCount;
  int64_t bandSize = 0;        ///< positions of a task; rows when byRows; pooled rows with a pool
  int64_t bandRows = 0;        ///< most convolution rows of a task, when byRows
  nn::WindowDim poolRows;      ///< the pool's window along H
  nn::Dim pooledHeight, pooledWidth;
  SmallVector<int64_t> heights;
  int64_t taps = 0, run = 0;
  nn::Dim tableRows;           ///< positions that the pointer table has room for
  nn::Dim copiedWidth;         ///< columns of a copied input row
  nn::Dim copiedBytes, tableBytes, pooledBytes; ///< parts of the scratch memory

  std::optional<KernelOperands> operands;
  // The task at hand; `unpooled` is the convolution's tile that only the pool reads.
  Value image, group, copied, table, unpooled;
};

} // namespace

LogicalResult ConvEmitter::plan() {
  RankedTensorType x = conv.inputType(), weight = conv.weightType();
  unsigned rank = x.getRank();
  bool channelsLast = nn::orderOf(x) == ArrayRef<int64_t>(nn::channelsLastOrder(rank));
  if (!channelsLast && !(nn::isRowMajor(x) && geometry.groups == 1 && rank <= 4))
    return kernel.emitOpError("needs a channels-last input");
  auto result = cast<RankedTensorType>(body.result.getType());
  if (nn::orderOf(result) != ArrayRef<int64_t>(nn::channelsLastOrder(rank)))
    return kernel.emitOpError("needs a channels-last result");
  auto encoding = dyn_cast_if_present<nn::EncodingAttr>(weight.getEncoding());
  nn::PackLoopsAttr pack = encoding ? encoding.getPack() : nn::PackLoopsAttr();
  if (!pack || pack.loopCount() == 0)
    return kernel.emitOpError("needs a weight in panels (pack-weights)");
  columnsPerPanel = pack.extent(pack.loopCount() - 1);
  int64_t lanes = b.target.lanes(accumulatorType(element).getIntOrFloatBitWidth());
  if (pack != nn::panelsOf(conv, columnsPerPanel) || columnsPerPanel % lanes)
    return kernel.emitOpError("has a weight whose panels do not fit its target");
  vectors = columnsPerPanel / lanes;
  panels = (geometry.groupOutputs + columnsPerPanel - 1) / columnsPerPanel;

  bool isFlat = geometry.kernel[0] == 1 && nn::constantOf(geometry.out[0]) == 1;
  copiesInput = !channelsLast || (geometry.groups == 1 && geometry.channels < kFewChannels && isFlat &&
                                  geometry.tapCount() > 1);
  byRows = copiesInput || body.pool;
  taps = geometry.tapCount();
  run = geometry.groupChannels;
  if (copiesInput && geometry.dilation[2] == 1) {
    taps = geometry.kernel[1];
    run = geometry.kernel[2] * geometry.channels;
  }
  if (body.pool && failed(planPool()))
    return failure();
  planBands();
  planScratch();
  return success();
}

LogicalResult ConvEmitter::planPool() {
  if (nn::constantOf(geometry.out[0]) != 1)
    return kernel.emitOpError("has a pool of three dimensions behind its convolution");
  auto pooled = cast<RankedTensorType>(body.pool->getResult(0).getType());
  pooledHeight = nn::dimOf(pooled, 2);
  pooledWidth = conv.spatialRank() > 1 ? nn::dimOf(pooled, 3) : geometry.constant(1);
  llvm::TypeSwitch<Operation *>(body.pool).Case<nn::MaxPoolOp, nn::AvgPoolOp>([&](auto pool) {
    poolRows = {pool.getKernel()[0], pool.getStrides()[0], pool.getDilations()[0],
                pool.getPadsBegin()[0], pool.getPadsEnd()[0], pool.getCeilMode()};
  });
  return success();
}

void ConvEmitter::planBands() {
  std::optional<int64_t> width = nn::constantOf(geometry.out[2]);
  for (int64_t height = b.target.tileRows(); height > 0; --height)
    heights.push_back(height);
  if (!byRows) {
    Bands cut(geometry.outPositions(), kBandPositions);
    bandCount = cut.count;
    bandSize = cut.size;
    if (cut.sizes)
      heights = tileHeights(*cut.sizes, b.target.tileRows());
  } else {
    int64_t positions = copiesInput ? kCopiedBandPositions : kBandPositions;
    int64_t rows = std::max<int64_t>(1, positions / width.value_or(positions / 4));
    int64_t reach = body.pool ? poolRows.dilatedKernel().getOr(1) : 1;
    int64_t step = body.pool ? poolRows.stride : 1;
    Bands cut(body.pool ? pooledHeight : geometry.out[1], std::max<int64_t>(1, rows / step));
    bandCount = cut.count;
    bandSize = cut.size;
    bandRows = (bandSize - 1) * step + reach;
    std::optional<int64_t> height = nn::constantOf(geometry.out[1]);
    if (height)
      bandRows = std::min(bandRows, *height);
    if (cut.sizes && height && width) {
      // Bands at the border need fewer rows when the pool pads.
      SmallVector<int64_t> positionCounts;
      int64_t extent = body.pool ? *nn::constantOf(pooledHeight) : *height;
      for (int64_t first = 0; first < extent; first += bandSize) {
        int64_t last = std::min(first + bandSize, extent) - 1;
        int64_t begin = std::max<int64_t>(0, first * step - poolRows.padBegin);
        int64_t end = std::min(*height, last * step - poolRows.padBegin + reach);
        positionCounts.push_back((end - begin) * *width);
      }
      heights = tileHeights(positionCounts, b.target.tileRows());
    }
  }
  std::optional<int64_t> bands = nn::constantOf(bandCount);
  if (bands)
    *bands *= geometry.groups;
  panelsOfTask = panelsPerTask(panels, bands);
}

void ConvEmitter::planScratch() {
  nn::Dim width = geometry.out[2];
  tableRows = byRows ? width * bandRows : geometry.constant(bandSize);
  tableBytes = aligned(tableRows * (taps * int64_t(sizeof(void *))));
  copiedBytes = copiedWidth = pooledBytes = geometry.constant(0);
  if (copiesInput) {
    int64_t rows = (bandRows - 1) * geometry.stride[1] + (geometry.kernel[1] - 1) * geometry.dilation[1] + 1;
    copiedWidth = (width - 1) * geometry.stride[2] + ((geometry.kernel[2] - 1) * geometry.dilation[2] + 1);
    copiedBytes = aligned(copiedWidth * (rows * geometry.channels * (element.getIntOrFloatBitWidth() / 8)));
  }
  if (body.pool) {
    Type pooled = cast<RankedTensorType>(body.pool->getOperand(0).getType()).getElementType();
    pooledBytes = aligned(tableRows * (panelsOfTask * columnsPerPanel * (pooled.getIntOrFloatBitWidth() / 8)));
  }
}

FailureOr<EmittedKernel> ConvEmitter::emit(StringRef symbol) {
  if (failed(plan()))
    return failure();
  b.beginKernel(symbol);
  operands.emplace(b, kernel);
  copied = b.scratch;
  table = b.offset(copied, b.getI8Type(), dim(copiedBytes));
  unpooled = b.offset(table, b.getI8Type(), dim(tableBytes));
  if (copiesInput)
    fillCopiedTable();
  b.loop(b.beginTask, b.endTask, [&](Value task) { emitTask(task); });
  b.endKernel();
  int64_t chunks = (panels + panelsOfTask - 1) / panelsOfTask;
  return EmittedKernel{geometry.batch * bandCount * (geometry.groups * chunks),
                       copiedBytes + tableBytes + pooledBytes};
}

void ConvEmitter::emitTask(Value task) {
  // Bands innermost: consecutive tasks share their weight panels.
  int64_t chunks = (panels + panelsOfTask - 1) / panelsOfTask;
  SmallVector<Value> place = b.delinearize(
      task, {dim(geometry.batch), b.i64(geometry.groups), b.i64(chunks), dim(bandCount)});
  image = place[0];
  group = place[1];
  Value beginPanel = b.mul(place[2], b.i64(panelsOfTask));
  Value endPanel = b.min(b.add(beginPanel, b.i64(panelsOfTask)), b.i64(panels));
  Value first = b.mul(place[3], b.i64(bandSize));
  if (body.pool)
    return emitPooledTask(first, beginPanel, endPanel);
  if (!byRows) {
    Value positions = b.min(b.i64(bandSize), b.sub(dim(geometry.outPositions()), first));
    fillDirectTable(first, positions);
    emitBlock(first, positions, beginPanel, endPanel);
    return;
  }
  Value rows = b.min(b.i64(bandSize), b.sub(dim(geometry.out[1]), first));
  Value width = dim(geometry.out[2]);
  copyInputRows(first, rows);
  emitBlock(b.mul(first, width), b.mul(rows, width), beginPanel, endPanel);
}

/// A band of pooled rows: the convolution rows that their windows cover, then the windows.
void ConvEmitter::emitPooledTask(Value firstPooledRow, Value beginPanel, Value endPanel) {
  Value endPooledRow = b.min(b.add(firstPooledRow, b.i64(bandSize)), dim(pooledHeight));
  Value step = b.i64(poolRows.stride), pad = b.i64(poolRows.padBegin);
  Value firstRow = b.max(b.sub(b.mul(firstPooledRow, step), pad), b.i64(0));
  Value lastWindow = b.sub(b.mul(b.sub(endPooledRow, b.i64(1)), step), pad);
  Value endRow = b.min(b.add(lastWindow, b.i64(poolRows.dilatedKernel().getOr(1))), dim(geometry.out[1]));
  Value rows = b.sub(endRow, firstRow), width = dim(geometry.out[2]);
  Value firstPosition = b.mul(firstRow, width), positions = b.mul(rows, width);
  if (copiesInput)
    copyInputRows(firstRow, rows);
  else
    fillDirectTable(firstPosition, positions);
  emitBlock(firstPosition, positions, beginPanel, endPanel);
  emitPool(firstPooledRow, endPooledRow, firstRow, beginPanel, endPanel);
}

/// Pools the tile in scratch memory, whose first row is convolution row `firstRow`, and applies the chain behind the pool.
void ConvEmitter::emitPool(Value firstPooledRow, Value endPooledRow, Value firstRow, Value beginPanel,
                           Value endPanel) {
  auto inputType = cast<RankedTensorType>(body.pool->getOperand(0).getType());
  auto resultType = cast<RankedTensorType>(body.result.getType());
  Type input = storageType(inputType.getElementType()), stored = storageType(resultType.getElementType());
  Type pooled = storageType(cast<RankedTensorType>(body.pool->getResult(0).getType()).getElementType());
  bool hasWidth = conv.spatialRank() > 1;
  Value width = dim(geometry.out[2]), tileColumns = b.i64(panelsOfTask * columnsPerPanel);
  Value firstColumn = b.mul(beginPanel, b.i64(columnsPerPanel));
  Value endColumn = b.min(b.mul(endPanel, b.i64(columnsPerPanel)), b.i64(geometry.groupOutputs));
  Value firstChannel = b.mul(group, b.i64(geometry.groupOutputs));
  const TensorView &result = operands->result(0);
  int64_t lanes = b.target.lanes(accumulatorType(element).getIntOrFloatBitWidth());

  b.loop(firstPooledRow, endPooledRow, [&](Value row) {
    b.loop(b.i64(0), dim(pooledWidth), [&](Value column) {
      vectorLoop(b, firstColumn, endColumn, lanes, input.getIntOrFloatBitWidth(), [&](Value c, int64_t count, Value mask) {
        SmallVector<Value> output = {row}, extents = {dim(geometry.out[1])};
        if (hasWidth) {
          output.push_back(column);
          extents.push_back(width);
        }
        auto load = [&](ValueRange position) -> SmallVector<Value> {
          Value at = b.mul(b.sub(position[0], firstRow), width);
          if (hasWidth)
            at = b.add(at, position[1]);
          Value place = b.add(b.mul(at, tileColumns), b.sub(c, firstColumn));
          return {loadLanes(b, input, b.offset(unpooled, input, place), count, mask)};
        };
        Type type = count == 1 ? pooled : VectorType::get({count}, pooled);
        Value root = emitPoolWindow(b, body.pool, output, extents, {type}, load)[0];
        Value channel = b.add(firstChannel, c);
        Value position = b.add(b.mul(b.add(b.mul(image, dim(pooledHeight)), row), dim(pooledWidth)), column);
        Value place = b.add(b.mul(position, b.i64(geometry.outputs)), channel);
        ChainPlace at{resultType, 1, channel, place, count, mask};
        Value value = applyChain(b, body.afterPool, root,
                                 [&](Value operand) { return readChainOperand(b, operand, at); });
        value = toStorage(b, stored, value);
        Value to = b.offset(result.pointer, stored, b.add(b.mul(position, result.strides.back()), channel));
        if (count == 1)
          b.store(value, to);
        else
          b.storeVector(value, to, mask);
      });
    });
  });
}

/// table[tap][i] = the input channels that position firstPosition + i reads at the tap.
void ConvEmitter::fillDirectTable(Value firstPosition, Value positions) {
  const TensorView &x = operands->view(conv.getX());
  Value positionStride = x.strides.back();
  Value base = b.add(b.mul(image, x.strides[0]), b.mul(group, b.i64(geometry.groupChannels)));
  Value origin = b.offset(x.pointer, element, base);
  bool checks = !geometry.neverPads();
  Value zeros = checks ? b.zeros(run * element.getIntOrFloatBitWidth() / 8) : Value();

  b.loop(b.i64(0), positions, [&](Value i) {
    SmallVector<Value> out = b.delinearize(b.add(firstPosition, i),
                                           {dim(geometry.out[0]), dim(geometry.out[1]), dim(geometry.out[2])});
    SmallVector<Value> corner(3);
    for (unsigned d = 0; d < 3; ++d)
      corner[d] = b.sub(b.mul(out[d], b.i64(geometry.stride[d])), b.i64(geometry.padBegin[d]));
    int64_t tap = 0;
    for (int64_t kd = 0; kd < geometry.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < geometry.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < geometry.kernel[2]; ++kw, ++tap) {
          int64_t k[] = {kd, kh, kw};
          Value place = b.i64(0), inside;
          for (unsigned d = 0; d < 3; ++d) {
            Value at = b.add(corner[d], b.i64(k[d] * geometry.dilation[d]));
            place = b.add(b.mul(place, dim(geometry.in[d])), at);
            if (!geometry.padBegin[d] && !geometry.padEnd[d])
              continue;
            Value within = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, at, dim(geometry.in[d]));
            inside = inside ? b.createOrFold<arith::AndIOp>(inside, within) : within;
          }
          Value pointer = b.offset(origin, element, b.mul(place, positionStride));
          if (inside)
            pointer = b.select(inside, pointer, zeros);
          Value entry = b.add(b.mul(b.i64(tap), dim(tableRows)), i);
          b.store(pointer, b.offset(table, b.pointerType(), entry));
        }
  });
}

/// Copies the input rows that output rows [firstOutRow, firstOutRow + outRows) read: padded with zeros, channels innermost.
void ConvEmitter::copyInputRows(Value firstOutRow, Value outRows) {
  const TensorView &x = operands->view(conv.getX());
  // Dimensions of the type behind H and W; a 1-D convolution has no W.
  bool hasWidth = conv.spatialRank() > 1;
  Value rowStride = x.strides[2], columnStride = hasWidth ? x.strides[3] : b.i64(0);
  Value source = b.offset(x.pointer, element, b.mul(image, x.strides[0]));
  Value channels = b.i64(geometry.channels), width = dim(copiedWidth);
  Value rowElements = b.mul(width, channels);
  Value rows = b.add(b.mul(b.sub(outRows, b.i64(1)), b.i64(geometry.stride[1])),
                     b.i64((geometry.kernel[1] - 1) * geometry.dilation[1] + 1));
  Value firstInRow = b.sub(b.mul(firstOutRow, b.i64(geometry.stride[1])), b.i64(geometry.padBegin[1]));
  Value pad = b.i64(geometry.padBegin[2]);
  Value begin = b.min(pad, width), end = b.max(begin, b.min(b.add(dim(geometry.in[2]), pad), width));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));

  b.loop(b.i64(0), rows, [&](Value r) {
    Value to = b.offset(copied, element, b.mul(r, rowElements));
    auto clear = [&](Value from, Value until) {
      b.loop(b.mul(from, channels), b.mul(until, channels),
             [&](Value i) { b.store(zero, b.offset(to, element, i)); });
    };
    Value inRow = b.add(firstInRow, r);
    Value isInside = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, inRow, dim(geometry.in[1]));
    b.branch(
        isInside,
        [&] {
          clear(b.i64(0), begin);
          Value from = b.offset(source, element, b.mul(inRow, rowStride));
          b.loop(b.i64(0), channels, [&](Value c) {
            Value fromChannel = b.offset(from, element, b.mul(c, x.strides[1]));
            Value toChannel = b.offset(to, element, c);
            b.loop(begin, end, [&](Value w) {
              Value value = b.load(element, b.offset(fromChannel, element, b.mul(b.sub(w, pad), columnStride)));
              b.store(value, b.offset(toChannel, element, b.mul(w, channels)));
            });
          });
          clear(end, width);
        },
        [&] { clear(b.i64(0), width); });
  });
}

/// The pointers into the copied rows; they are the same for every task of a call.
void ConvEmitter::fillCopiedTable() {
  Value width = dim(geometry.out[2]), channels = b.i64(geometry.channels);
  Value rowElements = b.mul(dim(copiedWidth), channels);
  bool wholeRows = geometry.dilation[2] == 1;
  int64_t columnTaps = wholeRows ? 1 : geometry.kernel[2];
  b.loop(b.i64(0), b.i64(bandRows), [&](Value row) {
    b.loop(b.i64(0), width, [&](Value column) {
      Value position = b.add(b.mul(row, width), column);
      for (int64_t kh = 0; kh < geometry.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < columnTaps; ++kw) {
          Value inRow = b.add(b.mul(row, b.i64(geometry.stride[1])), b.i64(kh * geometry.dilation[1]));
          Value inColumn = b.add(b.mul(column, b.i64(geometry.stride[2])), b.i64(kw * geometry.dilation[2]));
          Value at = b.add(b.mul(inRow, rowElements), b.mul(inColumn, channels));
          Value entry = b.add(b.mul(b.i64(kh * columnTaps + kw), dim(tableRows)), position);
          b.store(b.offset(copied, element, at), b.offset(table, b.pointerType(), entry));
        }
    });
  });
}

/// Tiles over output positions [firstPosition, firstPosition + positions) and panels [beginPanel, endPanel) of the group.
void ConvEmitter::emitBlock(Value firstPosition, Value positions, Value beginPanel, Value endPanel) {
  Value tile = body.pool ? body.pool->getOperand(0) : body.result;
  MicroKernelSpec spec;
  spec.vectors = vectors;
  spec.hasBias = static_cast<bool>(conv.getBias());
  spec.element = element;
  spec.stored = storageType(cast<RankedTensorType>(tile.getType()).getElementType());
  spec.chain = &body.epilogue;
  spec.chainType = conv.resultType();
  spec.channelDim = 1;

  TileBlock block;
  block.table = table;
  block.tableStride = dim(tableRows);
  block.taps = b.i64(taps);
  block.run = b.i64(run);
  block.rows = positions;
  block.heights = heights;
  Value firstChannel = b.mul(group, b.i64(geometry.groupOutputs));
  block.panels = b.offset(pointerOf(conv.getWeight()), element,
                          b.mul(group, b.i64(panels * taps * run * columnsPerPanel)));
  block.beginPanel = beginPanel;
  block.endPanel = endPanel;
  block.columns = b.i64(geometry.groupOutputs);
  if (conv.getBias())
    block.bias = b.offset(pointerOf(conv.getBias()), element, firstChannel);

  Value outputs = b.i64(geometry.outputs);
  Value firstRow = b.add(b.mul(image, dim(geometry.outPositions())), firstPosition);
  auto fullPlace = [&](Value row, Value column) {
    return b.add(b.mul(b.add(firstRow, row), outputs), b.add(firstChannel, column));
  };
  const TensorView &result = operands->result(0);
  block.outStride = result.strides.back();
  block.outAt = [&](Value row, Value column) {
    Value place = b.add(b.mul(b.add(firstRow, row), block.outStride), b.add(firstChannel, column));
    return b.offset(result.pointer, spec.stored, place);
  };
  if (body.pool) {
    Value tileColumns = b.i64(panelsOfTask * columnsPerPanel);
    Value firstColumn = b.mul(beginPanel, b.i64(columnsPerPanel));
    block.outAt = [=, this](Value row, Value column) {
      Value place = b.add(b.mul(row, tileColumns), b.sub(column, firstColumn));
      return b.offset(unpooled, spec.stored, place);
    };
    block.outStride = tileColumns;
  }
  block.fullStride = outputs;
  block.operandAt = [&](Value operand, Value row, Value column) -> Value {
    auto type = cast<RankedTensorType>(operand.getType());
    switch (*nn::accessOf(type, spec.chainType, spec.channelDim)) {
    case nn::Access::Scalar:
      return pointerOf(operand);
    case nn::Access::PerChannel:
      return b.offset(pointerOf(operand), type.getElementType(), b.add(firstChannel, column));
    case nn::Access::Full:
      return b.offset(pointerOf(operand), type.getElementType(), fullPlace(row, column));
    }
    llvm_unreachable("every access is handled");
  };
  emitTiles(b, spec, block);
}

FailureOr<EmittedKernel> codegen::emitConv(KernelBuilder &builder, nn::KernelOp kernel,
                                           StringRef symbol) {
  FailureOr<nn::AnchoredBody> body = nn::readAnchoredBody(kernel);
  if (failed(body))
    return kernel.emitOpError("is not a convolution with an elementwise epilogue and one pool");
  return ConvEmitter(builder, kernel, *body).emit(symbol);
}
