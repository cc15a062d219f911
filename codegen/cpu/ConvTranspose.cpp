// nn.conv_transpose, with an elementwise epilogue. Each output position gathers the inputs that reach it: those for which
// position + pad - tap * dilation is a multiple of the stride. Vectors run along the output channels, which a tap's weights hold
// side by side in a copy that each call makes in scratch memory.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/VectorLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

class ConvTransposeEmitter {
public:
  ConvTransposeEmitter(KernelBuilder &b, nn::KernelOp kernel)
      : b(b), kernel(kernel), op(cast<nn::ConvTransposeOp>(nn::anchorOf(kernel))),
        result(cast<RankedTensorType>(op.getResult().getType())),
        weight(cast<RankedTensorType>(op.getWeight().getType())) {
    groups = op.getGroups();
    groupInputs = weight.getDimSize(0) / groups;
    groupOutputs = weight.getDimSize(1);
    for (int64_t extent : weight.getShape().drop_front(2))
      taps *= extent;
    element = wideType(result.getElementType());
    lanes = b.target.lanes(widestElementBits(kernel));
  }

  /// A task is one output row of one image: all dimensions but the channels and the last one.
  EmittedKernel emit(StringRef symbol) {
    nn::Shape rows = nn::shapeOf(result);
    rows.erase(rows.begin() + 1);
    rows.pop_back();
    b.beginKernel(symbol);
    operands.emplace(b, kernel);
    turnWeights();
    SmallVector<Value> extents;
    for (nn::Dim row : rows)
      extents.push_back(b.dim(row));
    b.loop(b.beginTask, b.endTask, [&](Value task) {
      SmallVector<Value> place = b.delinearize(task, extents);
      SmallVector<Value> index = {place[0], Value()};
      index.append(place.begin() + 1, place.end());
      index.push_back(Value());
      b.loop(b.i64(0), b.dim(nn::dimOf(result, result.getRank() - 1)), [&](Value position) {
        index.back() = position;
        b.loop(b.i64(0), b.i64(groups), [&](Value group) {
          vectorLoop(b, b.i64(0), b.i64(groupOutputs), lanes, element.getIntOrFloatBitWidth(),
                     [&](Value output, int64_t count, Value mask) { emitOutputs(index, group, output, count, mask); });
        });
      });
    });
    b.endKernel();
    MLIRContext *context = b.getContext();
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    return {nn::product(rows, context), nn::constantDim(context, weight.getNumElements() * bytes)};
  }

private:
  /// Weights as [C][tap][O / groups] in scratch memory.
  void turnWeights() {
    const TensorView &view = operands->view(op.getWeight());
    SmallVector<Value> extents(view.extents.begin() + 2, view.extents.end());
    b.loop(b.i64(0), view.extents[0], [&](Value input) {
      b.loop(b.i64(0), b.i64(taps), [&](Value tap) {
        b.loop(b.i64(0), b.i64(groupOutputs), [&](Value output) {
          SmallVector<Value> index = {input, output};
          index.append(b.delinearize(tap, extents));
          Value value = ElementReader(*operands).readWide(op.getWeight(), index);
          b.store(value, weightPointer(input, tap, output));
        });
      });
    });
  }

  Value weightPointer(Value input, Value tap, Value output) {
    Value place = b.mul(b.add(b.mul(input, b.i64(taps)), tap), b.i64(groupOutputs));
    return b.offset(b.scratch, element, b.add(place, output));
  }

  /// Outputs of one position: `lanes` channels of `group` from `output` on.
  void emitOutputs(ArrayRef<Value> position, Value group, Value output, int64_t lanes, Value mask) {
    Type type = lanes > 1 ? Type(VectorType::get({lanes}, element)) : element;
    int laneDim = lanes > 1 ? 1 : -1;
    SmallVector<Value> index(position);
    index[1] = b.add(b.mul(group, b.i64(groupOutputs)), output);
    Value start = op.getBias() ? ElementReader(*operands, lanes, mask).readWide(op.getBias(), index[1], lanes > 1 ? 0 : -1)
                               : Value(arith::ConstantOp::create(b, b.getZeroAttr(type)));
    SmallVector<Value> tapIndex, source;
    Value sum = overTaps(index, group, output, type, mask, tapIndex, source, start);
    ElementReader reader(*operands, lanes, mask);
    reader.bind(op.getResult(), sum);
    operands->store(0, index, reader.read(operands->yielded(0), index, laneDim), laneDim, mask);
  }

  /// Loops over the taps of dimension number tapIndex.size() and the following ones.
  Value overTaps(ArrayRef<Value> index, Value group, Value output, Type type, Value mask,
                 SmallVector<Value> &tapIndex, SmallVector<Value> &source, Value sum) {
    size_t dim = tapIndex.size();
    if (dim == op.getStrides().size())
      return overChannels(index[0], group, output, type, mask, tapIndex, source, sum);
    Value extent = operands->view(op.getX()).extents[dim + 2];
    Value stride = b.i64(op.getStrides()[dim]);
    return b.loopCarried(
        b.i64(0), b.i64(weight.getDimSize(dim + 2)), b.i64(1), sum, [&](Value tap, ValueRange carried) {
          // position + pad = source * stride + tap * dilation
          Value distance = b.sub(b.add(index[dim + 2], b.i64(op.getPadsBegin()[dim])),
                                 b.mul(tap, b.i64(op.getDilations()[dim])));
          Value number = b.div(b.max(distance, b.i64(0)), stride);
          Value reaches = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, b.mul(number, stride), distance);
          reaches = b.createOrFold<arith::AndIOp>(reaches, b.less(number, extent));
          auto choice = scf::IfOp::create(b, TypeRange{type}, reaches, /*withElseRegion=*/true);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(choice.elseBlock());
          scf::YieldOp::create(b, carried);
          b.setInsertionPointToStart(choice.thenBlock());
          tapIndex.push_back(tap);
          source.push_back(number);
          Value next = overTaps(index, group, output, type, mask, tapIndex, source, carried[0]);
          scf::YieldOp::create(b, next);
          tapIndex.pop_back();
          source.pop_back();
          return SmallVector<Value>{choice.getResult(0)};
        })[0];
  }

  Value overChannels(Value image, Value group, Value output, Type type, Value mask, ArrayRef<Value> tapIndex,
                     ArrayRef<Value> source, Value sum) {
    Value tap = b.i64(0);
    for (auto [dim, position] : llvm::enumerate(tapIndex))
      tap = b.add(b.mul(tap, b.i64(weight.getDimSize(dim + 2))), position);
    return b.loopCarried(b.i64(0), b.i64(groupInputs), b.i64(1), sum, [&](Value channel, ValueRange carried) {
      Value input = b.add(b.mul(group, b.i64(groupInputs)), channel);
      SmallVector<Value> place = {image, input};
      place.append(source.begin(), source.end());
      Value x = ElementReader(*operands).readWide(op.getX(), place);
      Value pointer = weightPointer(input, tap, output);
      auto vector = dyn_cast<VectorType>(type);
      Value w = vector ? b.loadVector(vector, pointer, mask) : b.load(type, pointer);
      if (vector)
        x = vector::BroadcastOp::create(b, vector, x);
      return SmallVector<Value>{math::FmaOp::create(b, x, w, carried[0])};
    })[0];
  }

  KernelBuilder &b;
  nn::KernelOp kernel;
  nn::ConvTransposeOp op;
  RankedTensorType result, weight;
  std::optional<KernelOperands> operands;
  int64_t groups, groupInputs, groupOutputs, taps = 1, lanes;
  Type element;
};

} // namespace

FailureOr<EmittedKernel> codegen::emitConvTranspose(KernelBuilder &b, nn::KernelOp kernel,
                                                    StringRef symbol) {
  return ConvTransposeEmitter(b, kernel).emit(symbol);
}
