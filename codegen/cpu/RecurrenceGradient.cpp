// nn.recurrence_gradient: a task takes a few batch rows through all time steps, from the last to the first, with the gradients of
// their states in scratch memory. A step multiplies them by its factors, which gives the gradients of the gates, and then those with
// the hidden weights, which gives what the step before gets.
//
// Vectors run along the hidden units of the state. The contracted index counts rows of w_hh, so the weights are read as they lie.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/VectorLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

using Values = SmallVector<Value>;

class RecurrenceGradientEmitter {
public:
  RecurrenceGradientEmitter(KernelBuilder &b, nn::KernelOp kernel)
      : b(b), kernel(kernel), op(cast<nn::RecurrenceGradientOp>(nn::anchorOf(kernel))), hidden(op.hiddenSize()),
        gateCount(nn::RecurrenceOp::gateCountOf(op.getCell())) {
    auto sequence = cast<RankedTensorType>(op.getFactors()[0].getType());
    batch = nn::dimOf(sequence, 0);
    stepCount = nn::dimOf(sequence, 1);
    element = sequence.getElementType();
    lanes = b.target.lanes(element.getIntOrFloatBitWidth());
    vectorType = VectorType::get({lanes}, element);
    rowsPerTask = b.target.vectorRegisters >= 32 ? 4 : 2;
    if (std::optional<int64_t> rows = nn::constantOf(batch))
      rowsPerTask = std::min(rowsPerTask, std::max<int64_t>(*rows, 1));
  }

  EmittedKernel emit(StringRef symbol) {
    b.beginKernel(symbol);
    operands.emplace(b, kernel);
    Value steps = b.dim(stepCount), rows = b.dim(batch);
    b.loop(b.beginTask, b.endTask, [&](Value task) {
      Value first = b.mul(task, b.i64(rowsPerTask));
      auto emitAll = [&] {
        Values group;
        for (int64_t row = 0; row < rowsPerTask; ++row)
          group.push_back(b.add(first, b.i64(row)));
        emitRows(group, steps);
      };
      auto emitSingly = [&] { b.loop(first, rows, [&](Value row) { emitRows({row}, steps); }); };
      std::optional<int64_t> count = getConstantIntValue(rows);
      if (rowsPerTask == 1 || (count && *count % rowsPerTask == 0))
        emitAll();
      else
        b.branch(b.less(rows, b.add(first, b.i64(rowsPerTask))), emitSingly, emitAll);
    });
    b.endKernel();
    int64_t elements = (gateCount + kStateBuffers) * rowsPerTask * hidden;
    return {batch.ceilDiv(rowsPerTask), nn::constantDim(b.getContext(), elements * (element.getIntOrFloatBitWidth() / 8))};
  }

private:
  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// In scratch memory, for each row of the task: the gradients of h and c, and behind them what multiplies the weights, one buffer
  /// for each gate.
  static constexpr int64_t kHidden = 0, kCell = 1, kStateBuffers = 2;

  Value placeOf(int64_t buffer, int64_t row, Value unit) {
    int64_t place = (buffer * rowsPerTask + row) * hidden;
    return b.offset(b.scratch, element, b.add(b.i64(place), unit));
  }
  Value load(int64_t buffer, int64_t row, Value unit, Value mask) { return b.loadVector(vectorType, placeOf(buffer, row, unit), mask); }
  void store(Value value, int64_t buffer, int64_t row, Value unit, Value mask) {
    b.storeVector(value, placeOf(buffer, row, unit), mask);
  }

  /// Runs `body` over the hidden units, `wide` vectors at a time, then one, then the tail.
  void forUnits(int64_t wide, function_ref<void(Value unit, int64_t vectors, Value mask)> body) {
    int64_t begin = 0;
    for (int64_t vectors : {wide, int64_t{1}}) {
      int64_t step = vectors * lanes, end = begin + (hidden - begin) / step * step;
      if (end > begin)
        b.loop(b.i64(begin), b.i64(end), b.i64(step), [&](Value unit) { body(unit, vectors, {}); });
      begin = end;
    }
    if (begin < hidden)
      body(b.i64(begin), 1, tailMask(b, b.i64(hidden - begin), lanes));
  }

  Value read(Value tensor, ArrayRef<Value> index, Value mask) {
    return ElementReader(*operands, lanes, mask).readWide(tensor, index, index.size() - 1);
  }

  void write(unsigned number, ArrayRef<Value> index, Value value, Value mask) {
    for (unsigned result = 0; result < kernel.getNumResults(); ++result)
      if (operands->yielded(result) == op->getResult(number))
        operands->store(result, index, value, index.size() - 1, mask);
  }

  Value add(Value a, Value c) { return arith::AddFOp::create(b, a, c); }
  Value mul(Value a, Value c) { return arith::MulFOp::create(b, a, c); }

  //===--------------------------------------------------------------------===//
  // Time
  //===--------------------------------------------------------------------===//

  void emitRows(const Values &rows, Value steps) {
    bool isLstm = op.getCell() == nn::RecurrentCell::Lstm;
    auto initialise = [&](Value tensor, int64_t buffer) {
      for (auto [number, row] : llvm::enumerate(rows))
        forUnits(1, [&](Value unit, int64_t, Value mask) {
          store(tensor ? read(tensor, {row, unit}, mask) : b.floatConstant(vectorType, 0.0), buffer, number, unit, mask);
        });
    };
    initialise(op.getH(), kHidden);
    if (isLstm)
      initialise(op.getC(), kCell);
    b.loop(b.i64(0), steps, [&](Value step) {
      emitStep(rows, op.getReverse() ? step : b.sub(b.sub(steps, b.i64(1)), step));
    });
    auto finish = [&](unsigned result, int64_t buffer) {
      for (auto [number, row] : llvm::enumerate(rows))
        forUnits(1, [&](Value unit, int64_t, Value mask) { write(result, {row, unit}, load(buffer, number, unit, mask), mask); });
    };
    finish(1, kHidden);
    if (isLstm)
      finish(2, kCell);
  }

  void emitStep(const Values &rows, Value time) {
    for (auto [number, row] : llvm::enumerate(rows))
      forUnits(1, [&](Value unit, int64_t, Value mask) { applyFactors(number, row, time, unit, mask); });
    if (op.getCell() != nn::RecurrentCell::GruResetBefore)
      return addProducts(rows.size(), 0, gateCount, [&](int64_t row, Value unit, Value mask, Value sum) {
        store(add(load(kHidden, row, unit, mask), sum), kHidden, row, unit, mask);
      });
    // The reset gate stands between the last gate and the state.
    addProducts(rows.size(), 2, 1, [&](int64_t row, Value unit, Value mask, Value q) {
      auto factor = [&](int64_t which) { return read(op.getFactors()[which], {rows[row], time, unit}, mask); };
      giveGate(0, mul(q, factor(0)), row, rows[row], time, unit, mask);
      store(add(load(kHidden, row, unit, mask), mul(q, factor(3))), kHidden, row, unit, mask);
    });
    addProducts(rows.size(), 0, 2, [&](int64_t row, Value unit, Value mask, Value sum) {
      store(add(load(kHidden, row, unit, mask), sum), kHidden, row, unit, mask);
    });
  }

  /// The gradient of a gate: a result, and a factor of the weights.
  void giveGate(int64_t gate, Value value, int64_t number, Value row, Value time, Value unit, Value mask) {
    write(0, {row, time, b.add(unit, b.i64(gate * hidden))}, value, mask);
    store(value, kStateBuffers + gate, number, unit, mask);
  }

  /// What the gradients of one vector of states give to the gates, and to the states before without the weights.
  void applyFactors(int64_t number, Value row, Value time, Value unit, Value mask) {
    auto factor = [&](int64_t which) { return read(op.getFactors()[which], {row, time, unit}, mask); };
    auto give = [&](int64_t gate, Value value) { giveGate(gate, value, number, row, time, unit, mask); };
    Value dh = load(kHidden, number, unit, mask), kept = b.floatConstant(vectorType, 0.0);
    if (op.getY())
      dh = add(dh, read(op.getY(), {row, time, unit}, mask));
    switch (op.getCell()) {
    case nn::RecurrentCell::RnnTanh:
    case nn::RecurrentCell::RnnRelu:
      give(0, mul(dh, factor(0)));
      break;
    case nn::RecurrentCell::Lstm: {
      Value dc = add(load(kCell, number, unit, mask), mul(dh, factor(4)));
      for (int64_t gate : {0, 1, 2})
        give(gate, mul(dc, factor(gate)));
      give(3, mul(dh, factor(3)));
      store(mul(dc, factor(5)), kCell, number, unit, mask);
      break;
    }
    case nn::RecurrentCell::Gru: {
      give(0, mul(dh, factor(0)));
      give(1, mul(dh, factor(1)));
      Value candidate = mul(dh, factor(2));
      give(2, candidate);
      store(mul(candidate, factor(3)), kStateBuffers + 2, number, unit, mask);
      kept = mul(dh, factor(4));
      break;
    }
    case nn::RecurrentCell::GruResetBefore:
      give(1, mul(dh, factor(1)));
      give(2, mul(dh, factor(2)));
      kept = mul(dh, factor(4));
      break;
    }
    store(kept, kHidden, number, unit, mask);
  }

  /// Calls `use` with the product of `count` gates from `first` on with their weights, for all rows and units.
  void addProducts(int64_t rows, int64_t first, int64_t count, function_ref<void(int64_t row, Value unit, Value mask, Value sum)> use) {
    // As many vectors as keep about half of the registers filled with sums.
    int64_t wide = std::clamp<int64_t>(b.target.vectorRegisters / 2 / rows, 1, 4);
    forUnits(wide, [&](Value unit, int64_t vectors, Value mask) {
      Values sums(rows * vectors, b.floatConstant(vectorType, 0.0));
      for (int64_t gate = first; gate < first + count; ++gate)
        sums = b.loopCarried(b.i64(0), b.i64(hidden), b.i64(1), sums, [&](Value k, ValueRange carried) {
          Values weights, next;
          for (int64_t vector = 0; vector < vectors; ++vector)
            weights.push_back(read(op.getWHh(), {b.add(k, b.i64(gate * hidden)), b.add(unit, b.i64(vector * lanes))}, mask));
          for (int64_t row = 0; row < rows; ++row) {
            Value scalar = b.load(element, placeOf(kStateBuffers + gate, row, k));
            Value splat = vector::BroadcastOp::create(b, vectorType, scalar);
            for (Value weight : weights)
              next.push_back(vector::FMAOp::create(b, splat, weight, carried[next.size()]));
          }
          return next;
        });
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t vector = 0; vector < vectors; ++vector)
          use(row, b.add(unit, b.i64(vector * lanes)), mask, sums[row * vectors + vector]);
    });
  }

  KernelBuilder &b;
  nn::KernelOp kernel;
  nn::RecurrenceGradientOp op;
  std::optional<KernelOperands> operands;
  int64_t hidden, gateCount, lanes, rowsPerTask;
  nn::Dim batch, stepCount;
  Type element;
  VectorType vectorType;
};

} // namespace

FailureOr<EmittedKernel> codegen::emitRecurrenceGradient(KernelBuilder &b, nn::KernelOp kernel, StringRef symbol) {
  Operation *anchor = nn::anchorOf(kernel);
  for (Value value : kernel.getTerminator()->getOperands())
    if (value.getDefiningOp() != anchor)
      return kernel.emitOpError("has ops behind its gradient of a recurrence");
  return RecurrenceGradientEmitter(b, kernel).emit(symbol);
}
