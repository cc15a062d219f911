// Layer, RMS, group and instance norm with an elementwise prologue and epilogue. Mean, variance and result are three passes over
// a group that stays in the cache: the variance as the mean square distance from the mean, which does not cancel.

#include "codegen/cpu/RowKernel.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

FailureOr<EmittedKernel> codegen::emitNormalisation(KernelBuilder &b, nn::KernelOp kernel,
                                                    StringRef symbol) {
  Operation *anchor = nn::anchorOf(kernel);
  if (failed(checkRowResults(kernel, anchor)))
    return failure();
  Norm norm = readNorm(anchor);
  SweptLoops loops = normLoops(kernel, anchor, norm);
  RowKernel row(b, kernel, loops.loops, loops.isSwept);
  EmittedKernel emitted{row.tasks(), row.scratchBytes()};
  row.begin(symbol);
  VectorType vector = row.vectorType();
  Value elements = b.createOrFold<arith::SIToFPOp>(vector.getElementType(),
                                                   b.dim(row.groups().elementsPerGroup()));
  Value count = vector::BroadcastOp::create(b, vector, elements);
  Value epsilon = b.floatConstant(vector, norm.epsilon), one = b.floatConstant(vector, 1.0);

  /// An entry of scale or bias.
  auto readAffine = [&](Value tensor, const Place &place) {
    ElementReader reader(row.tensors(), row.groups().laneCount(), place.mask);
    if (norm.perChannel)
      return reader.readWide(tensor, place.index[1], place.laneDim == 1 ? 0 : -1);
    int lane = place.laneDim - static_cast<int>(norm.firstDim);
    return reader.readWide(tensor, ArrayRef<Value>(place.index).drop_front(norm.firstDim),
                           lane >= 0 ? lane : -1);
  };

  row.groups().forEachGroup([&] {
    Value mean;
    if (norm.centres)
      mean = arith::DivFOp::create(
          b, row.sum([&](const Place &place) { return row.firstInput(place); }), count);
    auto centred = [&](Value value) -> Value {
      return mean ? Value(arith::SubFOp::create(b, value, mean)) : value;
    };
    Value squares = row.sum([&](const Place &place) -> Value {
      Value distance = centred(mean ? row.inputAgain(place) : row.firstInput(place));
      return arith::MulFOp::create(b, distance, distance);
    });
    Value variance = arith::AddFOp::create(b, arith::DivFOp::create(b, squares, count), epsilon);
    Value factor = arith::DivFOp::create(b, one, math::SqrtOp::create(b, variance));
    row.groups().map([&](const Place &place) {
      Value value = row.inputAgain(place);
      Value result = arith::MulFOp::create(b, centred(value), factor);
      if (norm.scale)
        result = arith::MulFOp::create(b, result, readAffine(norm.scale, place));
      if (norm.bias)
        result = arith::AddFOp::create(b, result, readAffine(norm.bias, place));
      row.finish(place, result, value);
    });
  });
  row.end();
  return emitted;
}
