// Gradients of weights: products in which both operands are read down their columns. nn.conv_weight_gradient is one with a row per
// kernel position and input channel, a column per output channel, and the output positions of all images contracted; nn.matmul
// with a transposed left operand is the one-tap case, whose positions are the rows of its operands.
//
//   task        some input channels of a group, all their taps, one panel of output channels; it sums over all positions by itself,
//               so tasks share nothing and the sums are the same with any number of threads
//   positions   bands of output rows of an image: the input rows of a band are copied into scratch memory, padded, the task's channels
//               side by side, so that a tap is a constant distance; the band's gradient becomes a panel
//
// The sums of a task stay in scratch memory, [tap][channel][column], until they are written in the weight's own order.

#include "codegen/ConvGeometry.h"
#include "codegen/cpu/Bands.h"
#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/OuterProduct.h"
#include "codegen/cpu/TileLoop.h"
#include "codegen/cpu/VectorLoop.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

/// Positions of a band: the band's panel and what a tile reads of the input lie in L1, and the sums are fetched rarely.
constexpr int64_t kBandPositions = 96;
/// Rows whose sums fit into L2 beside a panel and the input.
constexpr int64_t kMostTaskRows = 1024;
/// Rows below which preparing a band would show.
constexpr int64_t kLeastTaskRows = 96;
/// Tasks that keep a few threads busy.
constexpr int64_t kTasks = 8;
/// Weights whose elements are written side by side, each in an order of its own.
constexpr int64_t kWrittenColumns = 8;

/// Where the operands lie: pointers to the first element of a matrix or tensor, strides in elements.
struct Places {
  Value input, inputImage, inputChannel;
  std::array<Value, 3> inputSpatial;
  Value gradient, gradientPosition; ///< its columns lie side by side
  Value result, resultOutput, resultChannel;
  std::array<Value, 3> resultTap;
};

class WeightGradientEmitter {
public:
  WeightGradientEmitter(KernelBuilder &b, nn::KernelOp kernel, ConvGeometry geometry, nn::Dim matrices, Type element);

  /// `placesOf` says where the operands of matrix `number` lie.
  EmittedKernel emit(StringRef symbol, llvm::function_ref<Places(KernelOperands &operands, Value number)> placesOf);

private:
  void fillSteps();
  void fillRowOffsets();
  void sumBand(Value image, Value plane, Value firstRow);
  void copyInput(Value image, Value plane, Value firstRow, Value rows);
  void copyRow(Value from, Value to);
  void packPanel(Value firstPosition, Value positions);
  void multiply(Value positions);
  void write();

  Value at(Value pointer, Value elements) { return b.offset(pointer, element, elements); }
  Value clearVector() { return b.floatConstant(VectorType::get({lanes}, element), 0.0); }
  void clear(Value pointer, Value begin, Value end);
  void copy(Value from, Value to, Value count);

  KernelBuilder &b;
  nn::KernelOp kernel;
  ConvGeometry geometry;
  std::array<int64_t, 3> skips = {1, 1, 1}; ///< input positions from one that is read to the next, where a dimension has one tap
  nn::Dim matrices;
  Type element;
  int64_t elementBits, lanes;

  int64_t taps, vectors, columns, panels;
  int64_t chunk, chunks;     ///< input channels of a task, and how many such tasks a group has
  Bands bands;               ///< of output rows
  int64_t width;             ///< output positions of a row
  int64_t copiedRows, copiedWidth;
  SmallVector<int64_t> heights;

  Places places;
  Value sums, panel, copied, steps, rowOffsets; ///< scratch memory
  // The task at hand.
  Value firstInput, channels, firstChannel, firstOutput, outputs;
};

} // namespace

WeightGradientEmitter::WeightGradientEmitter(KernelBuilder &b, nn::KernelOp kernel, ConvGeometry given,
                                             nn::Dim matrices, Type element)
    : b(b), kernel(kernel), geometry(given), matrices(matrices), element(element),
      elementBits(element.getIntOrFloatBitWidth()), lanes(b.target.lanes(elementBits)), taps(geometry.tapCount()),
      bands(geometry.out[1], std::max<int64_t>(1, kBandPositions / *nn::constantOf(geometry.out[2]))),
      width(*nn::constantOf(geometry.out[2])) {
  // With one tap and no padding the input is as if it had no positions but those that are read.
  for (unsigned d = 0; d < 3; ++d)
    if (geometry.kernel[d] == 1 && !geometry.padBegin[d] && !geometry.padEnd[d]) {
      skips[d] = geometry.stride[d];
      geometry.stride[d] = 1;
      geometry.in[d] = geometry.out[d];
    }
  auto ceilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  columns = nn::panelColumns(geometry.groupOutputs, b.target.tileVectors() * lanes, lanes);
  vectors = columns / lanes;
  panels = ceilDiv(geometry.groupOutputs, columns);
  int64_t present = panels * geometry.groups * nn::constantOf(matrices).value_or(1);
  int64_t wanted = std::min(ceilDiv(kTasks, present), geometry.groupChannels * taps / kLeastTaskRows);
  int64_t most = std::max<int64_t>(1, kMostTaskRows / taps);
  int64_t parts = std::max<int64_t>({1, wanted, ceilDiv(geometry.groupChannels, most)});
  chunk = ceilDiv(geometry.groupChannels, parts);
  chunks = ceilDiv(geometry.groupChannels, chunk);
  int64_t last = geometry.groupChannels - (chunks - 1) * chunk;
  heights = tileHeights({chunk * taps, last * taps}, b.target.tileRows());
  copiedRows = (bands.size - 1) * geometry.stride[1] + (geometry.kernel[1] - 1) * geometry.dilation[1] + 1;
  copiedWidth = (width - 1) * geometry.stride[2] + (geometry.kernel[2] - 1) * geometry.dilation[2] + 1;
}

EmittedKernel WeightGradientEmitter::emit(StringRef symbol,
                                          llvm::function_ref<Places(KernelOperands &, Value)> placesOf) {
  int64_t positions = bands.size * width, elementBytes = elementBits / 8;
  SmallVector<std::pair<Value *, int64_t>> parts = {{&sums, chunk * taps * columns * elementBytes},
                                                    {&panel, positions * columns * elementBytes},
                                                    {&copied, geometry.kernel[0] * copiedRows * copiedWidth * chunk * elementBytes},
                                                    {&steps, positions * 8},
                                                    {&rowOffsets, chunk * taps * 8}};
  b.beginKernel(symbol);
  KernelOperands operands(b, kernel);
  int64_t scratchBytes = 0;
  for (auto [pointer, sizeBytes] : parts) {
    *pointer = b.offset(b.scratch, b.getI8Type(), b.i64(scratchBytes));
    scratchBytes += (sizeBytes + 63) / 64 * 64;
  }
  fillSteps();
  b.loop(b.beginTask, b.endTask, [&](Value task) {
    SmallVector<Value> place =
        b.delinearize(task, {b.dim(matrices), b.i64(geometry.groups), b.i64(panels), b.i64(chunks)});
    places = placesOf(operands, place[0]);
    for (unsigned d = 0; d < 3; ++d)
      places.inputSpatial[d] = b.mul(places.inputSpatial[d], b.i64(skips[d]));
    firstInput = b.mul(place[3], b.i64(chunk));
    channels = b.min(b.i64(chunk), b.sub(b.i64(geometry.groupChannels), firstInput));
    firstChannel = b.add(b.mul(place[1], b.i64(geometry.groupChannels)), firstInput);
    Value firstColumn = b.mul(place[2], b.i64(columns));
    firstOutput = b.add(b.mul(place[1], b.i64(geometry.groupOutputs)), firstColumn);
    outputs = b.min(b.i64(columns), b.sub(b.i64(geometry.groupOutputs), firstColumn));
    fillRowOffsets();
    b.loop(b.i64(0), b.product({channels, b.i64(taps * vectors)}),
           [&](Value i) { b.storeVector(clearVector(), at(sums, b.mul(i, b.i64(lanes)))); });
    b.loop(b.i64(0), b.dim(geometry.batch), [&](Value image) {
      b.loop(b.i64(0), b.dim(geometry.out[0]), [&](Value plane) {
        b.loop(b.i64(0), b.dim(geometry.out[1]), b.i64(bands.size),
               [&](Value firstRow) { sumBand(image, plane, firstRow); });
      });
    });
    write();
  });
  b.endKernel();
  return {matrices * (geometry.groups * panels * chunks), geometry.constant(scratchBytes)};
}

/// How far the positions of a band are from its first in the copied input; the same for all bands.
void WeightGradientEmitter::fillSteps() {
  Type i64Type = b.getI64Type();
  b.loop(b.i64(0), b.i64(bands.size), [&](Value row) {
    b.loop(b.i64(0), b.i64(width), [&](Value column) {
      Value step = b.add(b.mul(row, b.i64(geometry.stride[1] * copiedWidth * chunk)),
                         b.mul(column, b.i64(geometry.stride[2] * chunk)));
      b.store(step, b.offset(steps, i64Type, b.add(b.mul(row, b.i64(width)), column)));
    });
  });
}

/// Where tap and channel of each row lie in the copied input.
void WeightGradientEmitter::fillRowOffsets() {
  b.loop(b.i64(0), b.i64(taps), [&](Value tap) {
    SmallVector<Value> k =
        b.delinearize(tap, {b.i64(geometry.kernel[0]), b.i64(geometry.kernel[1]), b.i64(geometry.kernel[2])});
    Value row = b.add(b.mul(k[0], b.i64(copiedRows)), b.mul(k[1], b.i64(geometry.dilation[1])));
    Value place = b.add(b.mul(row, b.i64(copiedWidth)), b.mul(k[2], b.i64(geometry.dilation[2])));
    b.loop(b.i64(0), channels, [&](Value channel) {
      Value number = b.add(b.mul(tap, channels), channel);
      b.store(b.add(b.mul(place, b.i64(chunk)), channel), b.offset(rowOffsets, b.getI64Type(), number));
    });
  });
}

void WeightGradientEmitter::sumBand(Value image, Value plane, Value firstRow) {
  Value rows = b.min(b.i64(bands.size), b.sub(b.dim(geometry.out[1]), firstRow));
  Value positions = b.mul(rows, b.i64(width));
  Value row = b.add(b.mul(b.add(b.mul(image, b.dim(geometry.out[0])), plane), b.dim(geometry.out[1])), firstRow);
  copyInput(image, plane, firstRow, rows);
  packPanel(b.mul(row, b.i64(width)), positions);
  multiply(positions);
}

void WeightGradientEmitter::clear(Value pointer, Value begin, Value end) {
  vectorLoop(b, begin, end, lanes, elementBits, [&](Value i, int64_t count, Value mask) {
    if (count == 1)
      b.store(b.floatConstant(element, 0.0), at(pointer, i));
    else
      b.storeVector(clearVector(), at(pointer, i), mask);
  });
}

void WeightGradientEmitter::copy(Value from, Value to, Value count) {
  vectorLoop(b, b.i64(0), count, lanes, elementBits, [&](Value i, int64_t width, Value mask) {
    if (width == 1)
      b.store(b.load(element, at(from, i)), at(to, i));
    else
      b.storeVector(b.loadVector(VectorType::get({lanes}, element), at(from, i), mask), at(to, i), mask);
  });
}

/// The input rows that output rows [firstRow, firstRow + rows) of the plane read, zeros around them.
void WeightGradientEmitter::copyInput(Value image, Value plane, Value firstRow, Value rows) {
  auto corner = [&](unsigned d, Value position) {
    return b.sub(b.mul(position, b.i64(geometry.stride[d])), b.i64(geometry.padBegin[d]));
  };
  Value base = b.add(b.mul(image, places.inputImage), b.mul(firstChannel, places.inputChannel));
  Value inputRows = b.add(b.mul(b.sub(rows, b.i64(1)), b.i64(geometry.stride[1])),
                          b.i64((geometry.kernel[1] - 1) * geometry.dilation[1] + 1));
  auto isInside = [&](unsigned d, Value position) -> Value {
    if (!geometry.padBegin[d] && !geometry.padEnd[d])
      return {};
    return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, position, b.dim(geometry.in[d]));
  };
  for (int64_t tap = 0; tap < geometry.kernel[0]; ++tap) {
    Value inPlane = b.add(corner(0, plane), b.i64(tap * geometry.dilation[0]));
    Value isPlaneInside = isInside(0, inPlane);
    Value planeBase = b.add(base, b.mul(inPlane, places.inputSpatial[0]));
    b.loop(b.i64(0), inputRows, [&](Value r) {
      Value inRow = b.add(corner(1, firstRow), r), inside = isInside(1, inRow);
      if (isPlaneInside)
        inside = inside ? Value(arith::AndIOp::create(b, inside, isPlaneInside)) : isPlaneInside;
      Value to = at(copied, b.mul(b.add(b.i64(tap * copiedRows), r), b.i64(copiedWidth * chunk)));
      Value from = at(places.input, b.add(planeBase, b.mul(inRow, places.inputSpatial[1])));
      if (inside)
        b.branch(inside, [&] { copyRow(from, to); },
                 [&] { clear(to, b.i64(0), b.i64(copiedWidth * chunk)); });
      else
        copyRow(from, to);
    });
  }
}

void WeightGradientEmitter::copyRow(Value from, Value to) {
  int64_t pad = geometry.padBegin[2], in = *nn::constantOf(geometry.in[2]);
  int64_t begin = std::min(pad, copiedWidth), end = std::max(begin, std::min(in + pad, copiedWidth));
  if (begin > 0)
    clear(to, b.i64(0), b.i64(begin * chunk));
  if (end < copiedWidth)
    clear(to, b.i64(end * chunk), b.i64(copiedWidth * chunk));
  Value first = at(to, b.i64(begin * chunk)), columnStride = places.inputSpatial[2];
  bool sideBySide = isConstantIntValue(places.inputChannel, 1);
  if (sideBySide && chunks == 1 && isConstantIntValue(columnStride, chunk))
    return copy(from, first, b.i64((end - begin) * chunk));
  if (sideBySide) {
    b.loop(b.i64(0), b.i64(end - begin), [&](Value w) {
      copy(at(from, b.mul(w, columnStride)), at(first, b.mul(w, b.i64(chunk))), channels);
    });
    return;
  }
  b.loop(b.i64(0), channels, [&](Value channel) {
    Value fromChannel = at(from, b.mul(channel, places.inputChannel)), toChannel = at(first, channel);
    b.loop(b.i64(0), b.i64(end - begin), [&](Value w) {
      b.store(b.load(element, at(fromChannel, b.mul(w, columnStride))), at(toChannel, b.mul(w, b.i64(chunk))));
    });
  });
}

/// The gradient at the band's positions, zero beyond the last output channel.
void WeightGradientEmitter::packPanel(Value firstPosition, Value positions) {
  Value from = at(places.gradient, b.add(b.mul(firstPosition, places.gradientPosition), firstOutput));
  auto vectorType = VectorType::get({lanes}, element);
  SmallVector<Value> masks(vectors);
  if (geometry.groupOutputs % columns != 0)
    for (int64_t v = 0; v < vectors; ++v)
      masks[v] = tailMask(b, b.sub(outputs, b.i64(v * lanes)), lanes);
  b.loop(b.i64(0), positions, [&](Value i) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value place = b.add(b.mul(i, places.gradientPosition), b.i64(v * lanes));
      Value value = b.loadVector(vectorType, at(from, place), masks[v]);
      b.storeVector(value, at(panel, b.add(b.mul(i, b.i64(columns)), b.i64(v * lanes))));
    }
  });
}

/// Tiles of nearly equal height over the rows of the task.
void WeightGradientEmitter::multiply(Value positions) {
  Value rows = b.mul(channels, b.i64(taps));
  Value tiles = b.ceilDiv(rows, b.i64(b.target.tileRows()));
  Value base = b.div(rows, tiles), extra = b.rem(rows, tiles);
  b.loop(b.i64(0), tiles, [&](Value tile) {
    Value row = b.add(b.mul(tile, base), b.min(tile, extra));
    Value height = b.add(base, b.createOrFold<arith::ExtUIOp>(b.getI64Type(), b.less(tile, extra)));
    OuterProductArgs args{copied,    b.offset(rowOffsets, b.getI64Type(), row), steps, positions, panel,
                          at(sums, b.mul(row, b.i64(columns)))};
    std::function<void(ArrayRef<int64_t>)> dispatch = [&](ArrayRef<int64_t> left) {
      auto call = [&] { callOuterProduct(b, {left.front(), vectors, element}, args); };
      if (left.size() == 1)
        return call();
      Value isThis = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, height, b.i64(left.front()));
      b.branch(isThis, call, [&] { dispatch(left.drop_front()); });
    };
    dispatch(heights);
  });
}

/// From [tap][channel][column] to the result.
void WeightGradientEmitter::write() {
  // In the weight a channel counts from the first of its group.
  Value origin = at(places.result, b.add(b.mul(firstOutput, places.resultOutput), b.mul(firstInput, places.resultChannel)));
  auto placeOf = [&](Value tap, Value channel) {
    SmallVector<Value> k =
        b.delinearize(tap, {b.i64(geometry.kernel[0]), b.i64(geometry.kernel[1]), b.i64(geometry.kernel[2])});
    Value place = b.mul(channel, places.resultChannel);
    for (unsigned d = 0; d < 3; ++d)
      place = b.add(place, b.mul(k[d], places.resultTap[d]));
    return place;
  };
  auto rowOf = [&](Value tap, Value channel) {
    return at(sums, b.mul(b.add(b.mul(tap, channels), channel), b.i64(columns)));
  };
  if (isConstantIntValue(places.resultOutput, 1)) {
    b.loop(b.i64(0), channels, [&](Value channel) {
      b.loop(b.i64(0), b.i64(taps), [&](Value tap) { copy(rowOf(tap, channel), at(origin, placeOf(tap, channel)), outputs); });
    });
    return;
  }
  // A few output channels at a time, each of which is written from its beginning to its end.
  b.loop(b.i64(0), outputs, b.i64(kWrittenColumns), [&](Value first) {
    Value end = b.min(b.add(first, b.i64(kWrittenColumns)), outputs);
    b.loop(b.i64(0), channels, [&](Value channel) {
      b.loop(b.i64(0), b.i64(taps), [&](Value tap) {
        Value row = rowOf(tap, channel), to = at(origin, placeOf(tap, channel));
        b.loop(first, end, [&](Value column) {
          b.store(b.load(element, at(row, column)), at(to, b.mul(column, places.resultOutput)));
        });
      });
    });
  });
}

FailureOr<EmittedKernel> codegen::emitConvWeightGradient(KernelBuilder &b, nn::KernelOp kernel, StringRef symbol) {
  auto op = cast<nn::ConvWeightGradientOp>(nn::anchorOf(kernel));
  auto xType = cast<RankedTensorType>(op.getX().getType()), gType = cast<RankedTensorType>(op.getG().getType());
  SmallVector<int64_t> channelsLast = nn::channelsLastOrder(gType.getRank());
  if (nn::orderOf(gType) != channelsLast)
    return kernel.emitOpError("needs a channels-last gradient");
  if (nn::orderOf(xType) != channelsLast && !nn::isRowMajor(xType))
    return kernel.emitOpError("needs an input that is channels-last or row-major");
  ConvGeometry geometry(op);
  nn::Dim one = geometry.constant(1);
  WeightGradientEmitter emitter(b, kernel, geometry, one, xType.getElementType());
  return emitter.emit(symbol, [&](KernelOperands &operands, Value) {
    const TensorView &x = operands.view(op.getX()), &g = operands.view(op.getG()), &result = operands.result(0);
    Places places;
    places.input = x.pointer;
    places.inputImage = x.strides[0];
    places.inputChannel = x.strides[1];
    places.gradient = g.pointer;
    places.gradientPosition = g.strides.back();
    places.result = result.pointer;
    places.resultOutput = result.strides[0];
    places.resultChannel = result.strides[1];
    places.inputSpatial.fill(b.i64(0));
    places.resultTap.fill(b.i64(0));
    for (unsigned i = 0; i < geometry.spatialRank; ++i) {
      places.inputSpatial[geometry.slotOf(i)] = x.strides[2 + i];
      places.resultTap[geometry.slotOf(i)] = result.strides[2 + i];
    }
    return places;
  });
}

FailureOr<EmittedKernel> codegen::emitTransposedMatmul(KernelBuilder &b, nn::KernelOp kernel, StringRef symbol) {
  auto op = cast<nn::MatmulOp>(nn::anchorOf(kernel));
  if (!nn::multipliesTransposed(op, /*halves=*/false) || !nn::isRowMajor(cast<RankedTensorType>(op.getLhs().getType())) ||
      !nn::isRowMajor(cast<RankedTensorType>(op.getRhs().getType())))
    return kernel.emitOpError("is a product with a transposed left operand that no kernel knows");
  auto lhs = cast<RankedTensorType>(op.getLhs().getType()), result = cast<RankedTensorType>(op.getResult().getType());
  int64_t rank = lhs.getRank();
  ConvGeometry geometry(b.getContext(), nn::dimOf(lhs, rank - 2), result.getDimSize(rank - 2), result.getDimSize(rank - 1));
  nn::Shape shape = nn::shapeOf(result);
  ArrayRef<nn::Dim> batch = ArrayRef<nn::Dim>(shape).drop_back(2);
  WeightGradientEmitter emitter(b, kernel, geometry, nn::product(batch, b.getContext()), lhs.getElementType());
  return emitter.emit(symbol, [&](KernelOperands &operands, Value number) {
    SmallVector<Value> extents, index;
    for (nn::Dim dim : batch)
      extents.push_back(b.dim(dim));
    if (!extents.empty())
      index = b.delinearize(number, extents);
    auto matrixOf = [&](const TensorView &tensor) {
      Value elements = b.i64(0);
      for (auto [position, stride] : llvm::zip(index, tensor.strides))
        elements = b.add(elements, b.mul(position, stride));
      return b.offset(tensor.pointer, tensor.storage(), elements);
    };
    const TensorView &left = operands.view(op.getLhs()), &right = operands.view(op.getRhs()), &to = operands.result(0);
    Value none = b.i64(0);
    return Places{matrixOf(left), none, left.strides[rank - 1], {none, left.strides[rank - 2], none},
                  matrixOf(right), right.strides[rank - 2],
                  matrixOf(to), to.strides[rank - 1], to.strides[rank - 2], {none, none, none}};
  });
}
