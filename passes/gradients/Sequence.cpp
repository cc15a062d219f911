// Gradients of recurrent layers: back-propagation through time. Only the way from one step to the next needs a kernel of its own
// (nn.recurrence_gradient), and there the steps are linear. Everything around it is the same for all steps at once: the gates are
// computed again from the input and the states, which the forward pass has left in y, and the gradients of the gates of all steps are
// multiplied with inputs, states and weights as matrices. Half precision is widened to f32.

#include "ir/TensorBuilder.h"
#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

using nn::RecurrentCell;

/// A layer's operands, absent ones null, widened, and what is computed from them.
class Layer {
public:
  template <typename Op>
  Layer(TensorBuilder &b, Op op, RecurrentCell cell, Value initialCell)
      : b(b), cell(cell), reverse(op.getReverse()), hidden(op.hiddenSize()), element(b.typeOf(op.getX()).getElementType()),
        x(widen(op.getX())), wIh(widen(op.getWIh())), wHh(widen(op.getWHh())), bIh(widen(op.getBIh())), bHh(widen(op.getBHh())),
        h0(widen(op.getH0())), c0(widen(initialCell)), y(widen(op.getY())) {}

  /// One gradient per operand, in the order of the op's operands without the absent ones.
  void build(ValueRange resultGradients, ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients);

private:
  Value cast(Value value, Type to) {
    return !value || b.typeOf(value).getElementType() == to ? value : b.create<nn::CastOp>(value, TypeAttr::get(to));
  }
  Value widen(Value value) { return element.getIntOrFloatBitWidth() < 32 ? cast(value, b.getF32Type()) : value; }

  Value part(Value value, int64_t dim, int64_t firstGate, int64_t gates) {
    SmallVector<int64_t> starts(b.rankOf(value), 0), sizes(b.rankOf(value), -1), steps(b.rankOf(value), 1);
    starts[dim] = firstGate * hidden;
    sizes[dim] = gates * hidden;
    return b.create<nn::SliceOp>(value, starts, sizes, steps);
  }
  Value gate(Value value, int64_t number) { return part(value, 2, number, 1); }
  Value shifted(Value value, Value first) {
    return b.create<nn::ShiftOp>(value, first, b.getI64IntegerAttr(1), reverse ? b.getUnitAttr() : UnitAttr());
  }
  Value matmul(Value lhs, Value rhs, Value bias, bool transposeLhs, bool transposeRhs) {
    return b.create<nn::MatmulOp>(lhs, rhs, bias, transposeLhs, transposeRhs);
  }
  /// [N, T, K] as [N * T, K].
  Value rows(Value value) {
    nn::Shape shape = nn::shapeOf(value.getType());
    return b.reshape(value, {nn::product({shape[0], shape[1]}, b.getContext()), shape[2]});
  }
  Value sigmoid(Value value) { return b.create<nn::SigmoidOp>(value); }
  Value tanh(Value value) { return b.create<nn::TanhOp>(value); }
  Value oneMinus(Value value) { return b.sub(b.scalar(value, 1.0), value); }
  /// Derivatives in terms of the function's value.
  Value sigmoidSlope(Value value) { return b.mul(value, oneMinus(value)); }
  Value tanhSlope(Value value) { return oneMinus(b.mul(value, value)); }

  SmallVector<Value> factors();
  SmallVector<Value> lstmFactors();
  SmallVector<Value> gruFactors();

  /// x w_ih^T and the biases that may be added before, as the forward pass computes it: the two become one.
  Value projected() {
    Value bias = bIh;
    if (cell == RecurrentCell::Lstm && bHh)
      bias = bias ? b.add(bias, bHh) : bHh;
    return matmul(x, wIh, bias, false, true);
  }

  TensorBuilder &b;
  RecurrentCell cell;
  bool reverse;
  int64_t hidden;
  Type element;
  Value x, wIh, wHh, bIh, bHh, h0, c0, y;
  Value before; ///< the state before each step
  Value reset;  ///< GRU: the reset gate
};

} // namespace

SmallVector<Value> Layer::lstmFactors() {
  Value sums = b.add(projected(), matmul(before, wHh, Value(), false, true));
  Value added = sigmoid(gate(sums, 0)), kept = sigmoid(gate(sums, 1)), candidate = tanh(gate(sums, 2)), shown = sigmoid(gate(sums, 3));
  Value state = b.create<nn::LinearScanOp>(kept, b.mul(added, candidate), c0, b.getI64IntegerAttr(1),
                                           reverse ? b.getUnitAttr() : UnitAttr());
  Value view = tanh(state);
  return {b.mul(candidate, sigmoidSlope(added)), b.mul(shifted(state, c0), sigmoidSlope(kept)), b.mul(added, tanhSlope(candidate)),
          b.mul(view, sigmoidSlope(shown)), b.mul(shown, tanhSlope(view)), kept};
}

SmallVector<Value> Layer::gruFactors() {
  Value input = projected(), update, candidate, resetFactor;
  if (cell == RecurrentCell::Gru) {
    Value state = matmul(before, wHh, bHh, false, true);
    reset = sigmoid(b.add(gate(input, 0), gate(state, 0)));
    update = sigmoid(b.add(gate(input, 1), gate(state, 1)));
    candidate = tanh(b.add(gate(input, 2), b.mul(reset, gate(state, 2))));
    resetFactor = b.mul(b.mul(oneMinus(update), tanhSlope(candidate)), gate(state, 2));
  } else {
    auto biasOf = [&](int64_t first, int64_t gates) { return bHh ? part(bHh, 0, first, gates) : Value(); };
    Value state = matmul(before, part(wHh, 0, 0, 2), biasOf(0, 2), false, true);
    reset = sigmoid(b.add(gate(input, 0), gate(state, 0)));
    update = sigmoid(b.add(gate(input, 1), gate(state, 1)));
    candidate = tanh(b.add(gate(input, 2), matmul(b.mul(reset, before), part(wHh, 0, 2, 1), biasOf(2, 1), false, true)));
    resetFactor = before;
  }
  return {b.mul(resetFactor, sigmoidSlope(reset)), b.mul(b.sub(before, candidate), sigmoidSlope(update)),
          b.mul(oneMinus(update), tanhSlope(candidate)), reset, update};
}

SmallVector<Value> Layer::factors() {
  switch (cell) {
  case RecurrentCell::RnnTanh:
    return {tanhSlope(y)};
  case RecurrentCell::RnnRelu:
    return {cast(b.create<nn::GreaterOp>(y, b.scalar(y, 0.0)), b.typeOf(y).getElementType())};
  case RecurrentCell::Lstm:
    return lstmFactors();
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetBefore:
    return gruFactors();
  }
  llvm_unreachable("every cell has factors");
}

void Layer::build(ValueRange resultGradients, ArrayRef<bool> isWanted, MutableArrayRef<Value> gradients) {
  before = shifted(y, h0);
  Value gradientOfCell = resultGradients.size() > 2 ? widen(resultGradients[2]) : Value();
  auto steps = nn::RecurrenceGradientOp::create(b, wHh, factors(), widen(resultGradients[0]), widen(resultGradients[1]), gradientOfCell,
                                                cell, reverse);
  // The gradients of what the gates are computed from: of the input's part and of the state's, which a GRU multiplies by its reset gate.
  Value ofInput = steps.getProjected(), ofState = ofInput;
  if (cell == RecurrentCell::Gru)
    ofState = b.create<nn::ConcatOp>(ValueRange{part(ofInput, 2, 0, 2), b.mul(gate(ofInput, 2), reset)}, b.getI64IntegerAttr(2));

  unsigned number = 0;
  auto give = [&](Value operand, function_ref<Value()> gradient) {
    if (operand && isWanted[number])
      gradients[number] = cast(gradient(), element);
    number += operand ? 1 : 0;
  };
  give(x, [&] { return b.reshape(matmul(rows(ofInput), wIh, Value(), false, false), b.typeOf(x)); });
  give(wIh, [&] { return matmul(rows(ofInput), rows(x), Value(), true, false); });
  give(wHh, [&] {
    if (cell != RecurrentCell::GruResetBefore)
      return matmul(rows(ofState), rows(before), Value(), true, false);
    Value ofGates = matmul(rows(part(ofState, 2, 0, 2)), rows(before), Value(), true, false);
    Value ofCandidate = matmul(rows(gate(ofState, 2)), rows(b.mul(reset, before)), Value(), true, false);
    return b.create<nn::ConcatOp>(ValueRange{ofGates, ofCandidate}, b.getI64IntegerAttr(0));
  });
  give(bIh, [&] { return b.sum(ofInput, {0, 1}); });
  give(bHh, [&] { return b.sum(ofState, {0, 1}); });
  give(h0, [&] { return steps.getH0(); });
  give(c0, [&] { return steps.getC0(); });
}

namespace {

struct RnnGradient : nn::DifferentiableOpInterface::ExternalModel<RnnGradient, nn::RnnOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> isWanted,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::RnnOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    bool isTanh = op.getActivation() == nn::RnnActivation::Tanh;
    Layer(b, op, isTanh ? RecurrentCell::RnnTanh : RecurrentCell::RnnRelu, Value()).build(resultGradients, isWanted, gradients);
    return success();
  }
};

struct LstmGradient : nn::DifferentiableOpInterface::ExternalModel<LstmGradient, nn::LstmOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> isWanted,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::LstmOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Layer(b, op, RecurrentCell::Lstm, op.getC0()).build(resultGradients, isWanted, gradients);
    return success();
  }
};

struct GruGradient : nn::DifferentiableOpInterface::ExternalModel<GruGradient, nn::GruOp> {
  LogicalResult buildGradients(Operation *operation, OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> isWanted,
                               MutableArrayRef<Value> gradients) const {
    auto op = cast<nn::GruOp>(operation);
    TensorBuilder b(builder, op.getLoc());
    Layer(b, op, op.getResetBefore() ? RecurrentCell::GruResetBefore : RecurrentCell::Gru, Value())
        .build(resultGradients, isWanted, gradients);
    return success();
  }
};

} // namespace

void passes::attachSequenceGradients(MLIRContext &context) {
  nn::RnnOp::attachInterface<RnnGradient>(context);
  nn::LstmOp::attachInterface<LstmGradient>(context);
  nn::GruOp::attachInterface<GruGradient>(context);
}
