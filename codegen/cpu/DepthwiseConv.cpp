// Depthwise convolution kernels on channels-last tensors: each output channel reads one input channel, so a vector holds
// neighbouring channels and a tile holds neighbouring output columns. A loaded input vector serves every kernel column that
// reaches it, and a weight vector every column of the tile:
//
//   for task: image, band of output rows
//     for output row, tile of columns, vector of channels
//       acc[column] = bias + sum over taps of  x[column * stride + tap] * w[tap]        (all taps unrolled)
//
// A tile whose windows leave the input reads zeros through selected pointers instead; all others need no checks.

#include "codegen/cpu/ChainOperand.h"
#include "codegen/ConvGeometry.h"
#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/Bands.h"
#include "codegen/cpu/TileLoop.h"

#include <map>

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

/// Columns of a tile: with one weight and the input vectors in flight they fit into 16 registers.
constexpr int64_t kTileColumns = 8;
/// Bands per image, so that several threads have enough tasks.
constexpr int64_t kBandsPerImage = 8;

class DepthwiseEmitter {
public:
  DepthwiseEmitter(KernelBuilder &b, nn::KernelOp kernel, const nn::AnchoredBody &body)
      : b(b), kernel(kernel), body(body), geometry(cast<nn::ConvOp>(body.anchor)),
        conv(geometry.conv), element(conv.inputType().getElementType()),
        accumulator(accumulatorType(element)),
        lanes(b.target.lanes(accumulator.getIntOrFloatBitWidth())),
        vectorType(VectorType::get({lanes}, accumulator)),
        paddedChannels((geometry.channels + lanes - 1) / lanes * lanes) {}

  FailureOr<EmittedKernel> emit(StringRef symbol);

private:
  LogicalResult check();
  void emitRow(Value image, Value plane, Value row);
  void emitTile(Value firstColumn, int64_t columns);
  void emitChannels(Value firstColumn, int64_t columns, function_ref<Value(int64_t, int64_t, int64_t)> pointerAt);
  void emitVector(Value channel, Value mask, Value firstColumn, int64_t columns,
                  function_ref<Value(int64_t, int64_t, int64_t)> pointerAt);

  Value pointerOf(Value blockArgument) {
    return b.argument(cast<BlockArgument>(blockArgument).getArgNumber());
  }
  Value widen(Value vector) {
    return vector.getType() == vectorType ? vector : Value(arith::ExtFOp::create(b, vectorType, vector));
  }
  Value loadChannels(Type type, Value pointer, Value channel, Value mask) {
    return b.loadVector(VectorType::get({lanes}, type), b.offset(pointer, type, channel), mask);
  }
  /// Input position of tap `k` of dimension `d` for the tile's column or the row's position.
  Value inputAt(unsigned d, Value out, int64_t shift) {
    return b.add(b.mul(out, b.i64(geometry.stride[d])), b.i64(shift - geometry.padBegin[d]));
  }
  Value isInside(unsigned d, Value at) {
    return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, at, b.dim(geometry.in[d]));
  }

  KernelBuilder &b;
  nn::KernelOp kernel;
  const nn::AnchoredBody &body;
  ConvGeometry geometry;
  nn::ConvOp conv;
  Type element, accumulator;
  int64_t lanes;
  VectorType vectorType;
  int64_t paddedChannels;
  SmallVector<int64_t> widths; ///< tile widths that occur

  // The output row at hand.
  Value image, plane, row, outRow;
};

} // namespace

LogicalResult DepthwiseEmitter::check() {
  auto last = nn::channelsLastOrder(conv.inputType().getRank());
  if (nn::orderOf(conv.inputType()) != ArrayRef<int64_t>(last) ||
      nn::orderOf(cast<RankedTensorType>(body.result.getType())) != ArrayRef<int64_t>(last))
    return kernel.emitOpError("needs a channels-last input and result");
  auto encoding = dyn_cast_if_present<nn::EncodingAttr>(conv.weightType().getEncoding());
  if (!encoding || encoding.getPack() != nn::depthwiseTaps(conv, lanes))
    return kernel.emitOpError("needs a weight with channels innermost (pack-weights)");
  if (body.pool)
    return kernel.emitOpError("has a pool after a depthwise convolution, which is a kernel of its own");
  return success();
}

FailureOr<EmittedKernel> DepthwiseEmitter::emit(StringRef symbol) {
  if (failed(check()))
    return failure();
  std::optional<int64_t> width = nn::constantOf(geometry.out[2]);
  if (width)
    widths = tileHeights({*width}, kTileColumns);
  else
    for (int64_t columns = kTileColumns; columns > 0; --columns)
      widths.push_back(columns);
  nn::Dim rows = geometry.out[0] * geometry.out[1];
  std::optional<int64_t> rowCount = nn::constantOf(rows);
  Bands bands(rows, rowCount ? (*rowCount + kBandsPerImage - 1) / kBandsPerImage : 4);

  b.beginKernel(symbol);
  b.loop(b.beginTask, b.endTask, [&](Value task) {
    SmallVector<Value> place = b.delinearize(task, {b.dim(geometry.batch), b.dim(bands.count)});
    Value first = b.mul(place[1], b.i64(bands.size));
    Value end = b.min(b.add(first, b.i64(bands.size)), b.dim(rows));
    b.loop(first, end, [&](Value flatRow) {
      SmallVector<Value> at = b.delinearize(flatRow, {b.dim(geometry.out[0]), b.dim(geometry.out[1])});
      outRow = b.add(b.mul(place[0], b.dim(rows)), flatRow);
      emitRow(place[0], at[0], at[1]);
    });
  });
  b.endKernel();
  return EmittedKernel{geometry.batch * bands.count, geometry.constant(0)};
}

/// One output row, cut into tiles of nearly equal width.
void DepthwiseEmitter::emitRow(Value imageIndex, Value planeIndex, Value rowIndex) {
  image = imageIndex;
  plane = planeIndex;
  row = rowIndex;
  Value width = b.dim(geometry.out[2]);
  Value tiles = b.ceilDiv(width, b.i64(kTileColumns));
  Value base = b.div(width, tiles), extra = b.rem(width, tiles);
  b.loop(b.i64(0), tiles, [&](Value tile) {
    Value isWide = b.less(tile, extra);
    Value first = b.add(b.mul(tile, base), b.min(tile, extra));
    Value columns = b.add(base, b.createOrFold<arith::ExtUIOp>(b.getI64Type(), isWide));
    std::function<void(ArrayRef<int64_t>)> dispatch = [&](ArrayRef<int64_t> choices) {
      if (choices.size() == 1)
        return emitTile(first, choices.front());
      Value isThis = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, columns, b.i64(choices.front()));
      b.branch(
          isThis, [&] { emitTile(first, choices.front()); }, [&] { dispatch(choices.drop_front()); });
    };
    dispatch(widths);
  });
}

/// The pointers that a tile reads: plain sums inside the input, selected ones at its border.
void DepthwiseEmitter::emitTile(Value firstColumn, int64_t columns) {
  Value channels = b.i64(geometry.channels);
  Value planeElements = b.mul(b.dim(geometry.in[1]), b.dim(geometry.in[2]));
  Value origin = b.offset(pointerOf(conv.getX()), element,
                          b.mul(b.mul(b.mul(image, b.dim(geometry.in[0])), planeElements), channels));
  int64_t reach = (columns - 1) * geometry.stride[2] + (geometry.kernel[2] - 1) * geometry.dilation[2];
  auto pointerTo = [&](int64_t kd, int64_t kh, int64_t shift) {
    Value d = inputAt(0, plane, kd * geometry.dilation[0]), h = inputAt(1, row, kh * geometry.dilation[1]);
    Value w = inputAt(2, firstColumn, shift);
    Value place = b.add(b.add(b.mul(d, planeElements), b.mul(h, b.dim(geometry.in[2]))), w);
    return b.offset(origin, element, b.mul(place, channels));
  };
  if (geometry.neverPads())
    return emitChannels(firstColumn, columns, pointerTo);

  Value inside;
  auto require = [&](Value condition) {
    inside = inside ? b.createOrFold<arith::AndIOp>(inside, condition) : condition;
  };
  Value position[] = {plane, row, firstColumn};
  for (unsigned d = 0; d < 3; ++d) {
    int64_t last = d == 2 ? reach : (geometry.kernel[d] - 1) * geometry.dilation[d];
    require(isInside(d, inputAt(d, position[d], 0)));
    require(isInside(d, inputAt(d, position[d], last)));
  }
  b.branch(
      inside, [&] { emitChannels(firstColumn, columns, pointerTo); },
      [&] {
        Value zeros = b.zeros(paddedChannels * element.getIntOrFloatBitWidth() / 8);
        // Selected once per tile, before the loop over channels.
        std::map<std::array<int64_t, 3>, Value> selected;
        for (int64_t kd = 0; kd < geometry.kernel[0]; ++kd)
          for (int64_t kh = 0; kh < geometry.kernel[1]; ++kh)
            for (int64_t column = 0; column < columns; ++column)
              for (int64_t kw = 0; kw < geometry.kernel[2]; ++kw) {
                int64_t shift = column * geometry.stride[2] + kw * geometry.dilation[2];
                Value &pointer = selected[{kd, kh, shift}];
                if (pointer)
                  continue;
                Value within = isInside(0, inputAt(0, plane, kd * geometry.dilation[0]));
                within = b.createOrFold<arith::AndIOp>(within, isInside(1, inputAt(1, row, kh * geometry.dilation[1])));
                within = b.createOrFold<arith::AndIOp>(within, isInside(2, inputAt(2, firstColumn, shift)));
                pointer = b.select(within, pointerTo(kd, kh, shift), zeros);
              }
        emitChannels(firstColumn, columns, [&](int64_t kd, int64_t kh, int64_t shift) {
          return selected.at({kd, kh, shift});
        });
      });
}

void DepthwiseEmitter::emitChannels(Value firstColumn, int64_t columns,
                                    function_ref<Value(int64_t, int64_t, int64_t)> pointerAt) {
  int64_t whole = geometry.channels / lanes * lanes;
  if (whole)
    b.loop(b.i64(0), b.i64(whole), b.i64(lanes),
           [&](Value channel) { emitVector(channel, {}, firstColumn, columns, pointerAt); });
  if (whole == geometry.channels)
    return;
  SmallVector<bool> bits(lanes);
  for (int64_t lane = 0; lane < geometry.channels - whole; ++lane)
    bits[lane] = true;
  Value mask = arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()), ArrayRef<bool>(bits)));
  emitVector(b.i64(whole), mask, firstColumn, columns, pointerAt);
}

/// One vector of channels for every column of the tile.
void DepthwiseEmitter::emitVector(Value channel, Value mask, Value firstColumn, int64_t columns,
                                  function_ref<Value(int64_t, int64_t, int64_t)> pointerAt) {
  Value start = conv.getBias()
                    ? widen(loadChannels(element, pointerOf(conv.getBias()), channel, mask))
                    : Value(arith::ConstantOp::create(b, b.getZeroAttr(vectorType)));
  SmallVector<Value> sums(columns, start);
  Value weights = pointerOf(conv.getWeight());
  int64_t tap = 0;
  for (int64_t kd = 0; kd < geometry.kernel[0]; ++kd)
    for (int64_t kh = 0; kh < geometry.kernel[1]; ++kh) {
      std::map<int64_t, Value> loaded;
      for (int64_t kw = 0; kw < geometry.kernel[2]; ++kw, ++tap) {
        Value weight = widen(loadChannels(element, weights, b.add(channel, b.i64(tap * paddedChannels)), {}));
        for (int64_t column = 0; column < columns; ++column) {
          int64_t shift = column * geometry.stride[2] + kw * geometry.dilation[2];
          Value &x = loaded[shift];
          if (!x)
            x = widen(loadChannels(element, pointerAt(kd, kh, shift), channel, mask));
          sums[column] = vector::FMAOp::create(b, x, weight, sums[column]);
        }
      }
    }

  Type stored = storageType(cast<RankedTensorType>(body.result.getType()).getElementType());
  Value out = b.argument(kernel.getInputs().size());
  Value width = b.dim(geometry.out[2]), channels = b.i64(geometry.channels);
  for (int64_t column = 0; column < columns; ++column) {
    Value position = b.add(b.mul(outRow, width), b.add(firstColumn, b.i64(column)));
    Value place = b.add(b.mul(position, channels), channel);
    ChainPlace at{conv.resultType(), 1, channel, place, lanes, mask};
    auto read = [&](Value operand) { return readChainOperand(b, operand, at); };
    Value value = applyChain(b, body.epilogue, sums[column], read);
    b.storeVector(toStorage(b, stored, value), b.offset(out, stored, place), mask);
  }
}

FailureOr<EmittedKernel> codegen::emitDepthwiseConv(KernelBuilder &builder, nn::KernelOp kernel,
                                                    StringRef symbol) {
  FailureOr<nn::AnchoredBody> body = nn::readAnchoredBody(kernel);
  if (failed(body))
    return kernel.emitOpError("is not a convolution with an elementwise epilogue");
  return DepthwiseEmitter(builder, kernel, *body).emit(symbol);
}
