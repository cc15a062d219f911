// Layer, RMS, group and instance norm with an elementwise prologue and epilogue. Mean, variance and result are three passes over
// a group that stays in the cache: the variance as the mean square distance from the mean, which does not cancel.

#include "codegen/cpu/RowKernel.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

/// What distinguishes the norms.
struct Norm {
  Value scale, bias;
  double epsilon = 0;
  bool centres = true;   ///< subtracts the mean
  int64_t firstDim = 0;  ///< dimensions from here on belong to a group
  int64_t groups = 0;    ///< runs of channels that form a group with the later dimensions; 0 = no
  bool perChannel = false; ///< scale and bias have one entry per dimension 1; else the shape of the last dimensions
};

} // namespace

static Norm readNorm(Operation *anchor) {
  int64_t rank = cast<RankedTensorType>(anchor->getOperand(0).getType()).getRank();
  return llvm::TypeSwitch<Operation *, Norm>(anchor)
      .Case<nn::LayerNormOp>([&](nn::LayerNormOp op) {
        return Norm{op.getScale(), op.getBias(), op.getEpsilon().convertToDouble(), true,
                    rank - static_cast<int64_t>(op.getDims()), 0, false};
      })
      .Case<nn::RmsNormOp>([&](nn::RmsNormOp op) {
        return Norm{op.getScale(), {}, op.getEpsilon().convertToDouble(), false,
                    rank - static_cast<int64_t>(op.getDims()), 0, false};
      })
      .Case<nn::GroupNormOp>([&](nn::GroupNormOp op) {
        return Norm{op.getScale(), op.getBias(), op.getEpsilon().convertToDouble(), true, 2,
                    static_cast<int64_t>(op.getGroups()), true};
      })
      .Case<nn::InstanceNormOp>([&](nn::InstanceNormOp op) {
        return Norm{op.getScale(), op.getBias(), op.getEpsilon().convertToDouble(), true, 2, 0, true};
      });
}

FailureOr<EmittedKernel> codegen::emitNormalisation(KernelBuilder &b, nn::KernelOp kernel,
                                                    StringRef symbol) {
  Operation *anchor = nn::anchorOf(kernel);
  if (failed(checkRowResults(kernel, anchor)))
    return failure();
  Norm norm = readNorm(anchor);
  Value x = anchor->getOperand(0);
  auto type = cast<RankedTensorType>(x.getType());
  auto isSwept = [&](int64_t dim) { return dim >= norm.firstDim; };
  SmallVector<Value> affine;
  for (Value value : {norm.scale, norm.bias})
    if (value)
      affine.push_back(value);
  std::optional<int64_t> apart;
  if (norm.perChannel)
    apart = 1;
  SmallVector<LoopDim> loops;
  SmallVector<bool> swept;
  for (const LoopDim &loop :
       rowLoops(kernel, anchor, norm.perChannel ? ValueRange() : ValueRange(affine), isSwept, apart)) {
    if (norm.groups == 0 || loop.dim != 1) {
      loops.push_back(loop);
      swept.push_back(isSwept(loop.dim));
      continue;
    }
    // Channels are groups, kept, times the channels of a group, swept.
    int64_t size = type.getDimSize(1) / norm.groups;
    loops.push_back({nn::constantDim(b.getContext(), norm.groups), 1, size});
    swept.push_back(false);
    if (size > 1) {
      loops.push_back({nn::constantDim(b.getContext(), size), 1, 1});
      swept.push_back(true);
    }
  }

  RowKernel row(b, kernel, loops, swept);
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
