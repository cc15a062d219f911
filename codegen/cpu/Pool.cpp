// Max and average pools as kernels of their own: nn.max_pool, nn.avg_pool and the adaptive ones with an elementwise prologue and epilogue.
//
// Channels-last tensors hold the channels of a position side by side, so that a window reduces vectors of channels. In row-major
// order the channels lie far apart and each output is reduced by itself.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/PoolWindow.h"
#include "codegen/cpu/VectorLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

/// Vectors of channels that one window reduces side by side: they share the window's address arithmetic.
static constexpr int64_t kChannelVectors = 4;

namespace {

class PoolEmitter {
public:
  PoolEmitter(KernelBuilder &b, nn::KernelOp kernel)
      : b(b), operands(b, kernel), pool(nn::anchorOf(kernel)), input(pool->getOperand(0)),
        result(operands.yielded(0)) {
    auto inputType = cast<RankedTensorType>(input.getType());
    lanes = b.target.lanes(widestElementBits(kernel));
    element = wideElement(inputType);
    for (nn::Dim extent : llvm::drop_begin(nn::shapeOf(inputType), 2))
      inputExtents.push_back(b.dim(extent));
  }

  /// All channels of the outputs in one row: tasks [beginTask, endTask) of N x the spatial dimensions but the last.
  void emitChannelsLast() {
    forEachRow(/*withChannels=*/false, [&](SmallVector<Value> index) {
      Value channels = view().extents[1];
      b.loop(b.i64(0), view().extents.back(), [&](Value w) {
        index.back() = w;
        Value done = b.i64(0);
        if (int64_t wide = kChannelVectors * lanes; !isShorterThan(channels, wide)) {
          done = b.sub(channels, b.rem(channels, b.i64(wide)));
          b.loop(b.i64(0), done, b.i64(wide), [&](Value c) {
            index[1] = c;
            emitOutputs(index, kChannelVectors, lanes, {});
          });
        }
        unsigned bits = view().storage().getIntOrFloatBitWidth();
        vectorLoop(b, done, channels, lanes, bits, [&](Value c, int64_t count, Value mask) {
          index[1] = c;
          emitOutputs(index, 1, count, mask);
        });
      });
    });
  }

  /// One output after the other; rows count the channels too.
  void emitRowMajor() {
    forEachRow(/*withChannels=*/true, [&](SmallVector<Value> index) {
      b.loop(b.i64(0), view().extents.back(), [&](Value w) {
        index.back() = w;
        emitOutputs(index, 1, 1, {});
      });
    });
  }

private:
  const TensorView &view() { return operands.result(0); }

  /// Values of f16 and bf16 are reduced as f32.
  static Type wideElement(RankedTensorType type) {
    Type element = type.getElementType();
    if (auto integer = dyn_cast<IntegerType>(element))
      return IntegerType::get(element.getContext(), integer.getWidth());
    return wideType(element);
  }

  static bool isShorterThan(Value extent, int64_t length) {
    std::optional<int64_t> constant = getConstantIntValue(extent);
    return constant && *constant < length;
  }

  /// Unpacks the task number into N, [C,] and all spatial dimensions but the last, which `body` fills in.
  void forEachRow(bool withChannels, function_ref<void(SmallVector<Value>)> body) {
    SmallVector<unsigned> dims = {0};
    if (withChannels)
      dims.push_back(1);
    for (unsigned dim = 2; dim + 1 < view().extents.size(); ++dim)
      dims.push_back(dim);
    SmallVector<Value> extents;
    for (unsigned dim : dims)
      extents.push_back(view().extents[dim]);
    b.loop(b.beginTask, b.endTask, [&](Value task) {
      SmallVector<Value> index(view().extents.size());
      for (auto [dim, position] : llvm::zip(dims, b.delinearize(task, extents)))
        index[dim] = position;
      body(index);
    });
  }

  /// `vectors` vectors of outputs from channel index[1] on.
  void emitOutputs(ArrayRef<Value> index, int64_t vectors, int64_t lanes, Value mask) {
    Type type = lanes > 1 ? Type(VectorType::get({lanes}, element)) : element;
    SmallVector<Type> types(vectors, type);
    int laneDim = lanes > 1 ? 1 : -1;
    auto channel = [&](int64_t vector) { return b.add(index[1], b.i64(vector * lanes)); };
    auto load = [&](ValueRange position) {
      SmallVector<Value> values;
      for (int64_t vector = 0; vector < vectors; ++vector) {
        SmallVector<Value> place = {index[0], channel(vector)};
        place.append(position.begin(), position.end());
        values.push_back(ElementReader(operands, lanes, mask).readWide(input, place, laneDim));
      }
      return values;
    };
    SmallVector<Value> reduced =
        emitPoolWindow(b, pool, index.drop_front(2), inputExtents, types, load);
    for (int64_t vector = 0; vector < vectors; ++vector) {
      SmallVector<Value> place(index);
      place[1] = channel(vector);
      ElementReader reader(operands, lanes, mask);
      reader.bind(pool->getResult(0), reduced[vector]);
      operands.store(0, place, reader.read(result, place, laneDim), laneDim, mask);
    }
  }

  KernelBuilder &b;
  KernelOperands operands;
  Operation *pool;
  Value input, result;
  Type element;
  int64_t lanes;
  SmallVector<Value> inputExtents;
};

} // namespace

FailureOr<EmittedKernel> codegen::emitPool(KernelBuilder &b, nn::KernelOp kernel, StringRef symbol) {
  b.beginKernel(symbol);
  PoolEmitter emitter(b, kernel);
  auto type = cast<RankedTensorType>(nn::storedValue(kernel, 0).getType());
  nn::Shape shape = nn::shapeOf(type);
  nn::Shape rows(llvm::drop_end(shape));
  bool isChannelsLast = nn::orderOf(type).back() == 1;
  if (isChannelsLast) {
    rows.erase(rows.begin() + 1);
    emitter.emitChannelsLast();
  } else {
    emitter.emitRowMajor();
  }
  b.endKernel();
  MLIRContext *context = b.getContext();
  return EmittedKernel{nn::product(rows, context), nn::constantDim(context, 0)};
}
