// Recurrent layers: nn.recurrence, whose input is multiplied already, and nn.rnn, nn.lstm and nn.gru. A task takes a few batch rows through all time steps, with their states in scratch
// memory. Each step multiplies the step's input and the last state with the weights and applies the gates while the sums are still
// in registers.
//
// Vectors run along the hidden units, so the weights are needed with the contracted index outermost. Weights that do not lie so in
// memory are turned once per call.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/VectorLoop.h"
#include "ir/ops/ScalarFormula.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

enum class CellKind { Rnn, Lstm, Gru };

/// The operands of the three ops under one name each; absent ones are null.
struct Cell {
  Operation *op = nullptr;
  CellKind kind;
  int64_t gates;
  Value x, wIh, wHh, bIh, bHh, h0, c0;
  bool reverse, isRelu = false, resetBefore = false;
  Value projected; ///< the product of x and wIh with its biases, in place of both
};

template <typename Op> Cell readCell(Op op, CellKind kind) {
  return {op,           kind,         Op::kGates,   op.getX(),  op.getWIh(), op.getWHh(),
          op.getBIh(), op.getBHh(), op.getH0(), Value(), op.getReverse()};
}

Cell readRecurrence(nn::RecurrenceOp op) {
  Cell cell;
  cell.op = op;
  cell.gates = op.gateCount();
  cell.projected = op.getProjected();
  cell.wHh = op.getWHh();
  cell.bHh = op.getBiasHh();
  cell.h0 = op.getH0();
  cell.c0 = op.getC0();
  cell.reverse = op.getReverse();
  cell.isRelu = op.getCell() == nn::RecurrentCell::RnnRelu;
  cell.resetBefore = op.getCell() == nn::RecurrentCell::GruResetBefore;
  bool isGru = op.getCell() == nn::RecurrentCell::Gru || cell.resetBefore;
  cell.kind = isGru ? CellKind::Gru : op.getCell() == nn::RecurrentCell::Lstm ? CellKind::Lstm : CellKind::Rnn;
  return cell;
}

Cell readCell(Operation *op) {
  return llvm::TypeSwitch<Operation *, Cell>(op)
      .Case<nn::RecurrenceOp>(readRecurrence)
      .Case<nn::RnnOp>([](nn::RnnOp op) {
        Cell cell = readCell(op, CellKind::Rnn);
        cell.isRelu = op.getActivation() == nn::RnnActivation::Relu;
        return cell;
      })
      .Case<nn::LstmOp>([](nn::LstmOp op) {
        Cell cell = readCell(op, CellKind::Lstm);
        cell.c0 = op.getC0();
        return cell;
      })
      .Case<nn::GruOp>([](nn::GruOp op) {
        Cell cell = readCell(op, CellKind::Gru);
        cell.resetBefore = op.getResetBefore();
        return cell;
      });
}

/// Weights with the contracted index outermost.
struct Panel {
  Value pointer;
  Value stride; ///< elements from one contracted index to the next
  Type storage;
};

using Values = SmallVector<Value>;

class RecurrenceEmitter {
public:
  RecurrenceEmitter(KernelBuilder &b, nn::KernelOp kernel)
      : b(b), kernel(kernel), cell(readCell(nn::anchorOf(kernel))) {
    auto x = cast<RankedTensorType>((cell.projected ? cell.projected : cell.x).getType());
    stepCount = nn::dimOf(x, 1);
    inputs = x.getDimSize(2);
    hidden = cast<RankedTensorType>(cell.wHh.getType()).getDimSize(1);
    element = wideType(x.getElementType());
    lanes = b.target.lanes(element.getIntOrFloatBitWidth());
    vectorType = VectorType::get({lanes}, element);
    rowsPerTask = b.target.vectorRegisters >= 32 ? 4 : 2;
    batch = nn::dimOf(x, 0);
    if (std::optional<int64_t> rows = nn::constantOf(batch))
      rowsPerTask = std::min(rowsPerTask, std::max<int64_t>(*rows, 1));

    // Scratch: what is turned, then two states, the cell state, and what the reset gate leaves.
    int64_t gateColumns = cell.gates * hidden;
    if (cell.wIh && !isTurned(cell.wIh))
      scratchElements += inputs * gateColumns;
    hiddenPanelAt = scratchElements;
    if (!isTurned(cell.wHh))
      scratchElements += hidden * gateColumns;
    stateAt = scratchElements;
    scratchElements += 5 * rowsPerTask * hidden;
  }

  EmittedKernel emit(StringRef symbol) {
    b.beginKernel(symbol);
    operands.emplace(b, kernel);
    Value steps = b.dim(stepCount);
    if (cell.wIh)
      inputPanel = panelOf(cell.wIh, 0);
    hiddenPanel = panelOf(cell.wHh, hiddenPanelAt);
    Value rows = b.dim(batch);
    b.loop(b.beginTask, b.endTask, [&](Value task) {
      Value first = b.mul(task, b.i64(rowsPerTask));
      auto emitAll = [&] {
        Values group;
        for (int64_t row = 0; row < rowsPerTask; ++row)
          group.push_back(b.add(first, b.i64(row)));
        emitRows(group, steps);
      };
      auto emitSingly = [&] {
        b.loop(first, rows, [&](Value row) { emitRows({row}, steps); });
      };
      std::optional<int64_t> count = getConstantIntValue(rows);
      if (rowsPerTask == 1 || (count && *count % rowsPerTask == 0))
        emitAll();
      else
        b.branch(b.less(rows, b.add(first, b.i64(rowsPerTask))), emitSingly, emitAll);
    });
    b.endKernel();
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    return {batch.ceilDiv(rowsPerTask), nn::constantDim(b.getContext(), scratchElements * bytes)};
  }

private:
  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  static bool isTurned(Value weight) {
    auto type = cast<RankedTensorType>(weight.getType());
    return !nn::isPacked(type) && nn::orderOf(type).back() == 0;
  }

  Value scratchAt(int64_t elements) { return b.offset(b.scratch, element, b.i64(elements)); }

  Panel panelOf(Value weight, int64_t at) {
    const TensorView &view = operands->view(weight);
    if (isTurned(weight))
      return {view.pointer, view.strides[1], view.storage()};
    Value pointer = scratchAt(at), stride = view.extents[0];
    b.loop(b.i64(0), view.extents[0], [&](Value gate) {
      b.loop(b.i64(0), view.extents[1], [&](Value k) {
        Value value = ElementReader(*operands).readWide(weight, {gate, k});
        b.store(value, b.offset(pointer, element, b.add(b.mul(k, stride), gate)));
      });
    });
    return {pointer, stride, element};
  }

  /// The state of row number `row` of the task from hidden unit `unit` on; `buffer` counts arrays of all rows' states.
  Value stateAtUnit(Value buffer, int64_t row, Value unit) {
    Value place = b.mul(b.add(b.mul(buffer, b.i64(rowsPerTask)), b.i64(row)), b.i64(hidden));
    return b.offset(scratchAt(stateAt), element, b.add(place, unit));
  }

  // Buffers 0 and 1 take the hidden state in turn.
  static constexpr int64_t kCellState = 2, kResetState = 3, kUpdateGate = 4;

  Value loadState(Value buffer, int64_t row, Value unit, Value mask) {
    return b.loadVector(vectorType, stateAtUnit(buffer, row, unit), mask);
  }

  void storeState(Value value, Value buffer, int64_t row, Value unit, Value mask) {
    b.storeVector(value, stateAtUnit(buffer, row, unit), mask);
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

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  Value zero() { return arith::ConstantOp::create(b, b.getZeroAttr(vectorType)); }
  nn::ScalarFormula formula() { return nn::ScalarFormula(b, b.getLoc()); }

  /// Sums over k of rows[r][k] * panel[k][column + lanes] for each gate, vector and row, starting from `sums`.
  /// `read(row, k)` gives a scalar; the sums are ordered by row, gate, vector.
  Values contract(int64_t rows, ArrayRef<int64_t> gates, int64_t vectors, Value unit, Value mask,
                  int64_t length, const Panel &panel, ValueRange sums,
                  function_ref<Value(int64_t, Value)> read) {
    auto stored = VectorType::get({lanes}, panel.storage);
    return b.loopCarried(b.i64(0), b.i64(length), b.i64(1), sums, [&](Value k, ValueRange carried) {
      Value row = b.offset(panel.pointer, panel.storage, b.add(b.mul(k, panel.stride), unit));
      Values weights;
      for (int64_t gate : gates)
        for (int64_t vector = 0; vector < vectors; ++vector)
          weights.push_back(widen(b, b.loadVector(
              stored, b.offset(row, panel.storage, b.i64(gate * hidden + vector * lanes)), mask)));
      Values next;
      for (int64_t r = 0; r < rows; ++r) {
        Value x = vector::BroadcastOp::create(b, vectorType, read(r, k));
        for (Value weight : weights)
          next.push_back(vector::FMAOp::create(b, x, weight, carried[next.size()]));
      }
      return next;
    });
  }

  Value bias(Value tensor, int64_t gate, Value unit, Value mask) {
    return ElementReader(*operands, lanes, mask)
        .readWide(tensor, b.add(unit, b.i64(gate * hidden)), 0);
  }

  /// The biases of the gates, repeated for each row.
  Values biases(int64_t rows, ArrayRef<int64_t> gates, int64_t vectors, Value unit, Value mask,
                ArrayRef<Value> tensors) {
    Values one;
    for (int64_t gate : gates)
      for (int64_t vector = 0; vector < vectors; ++vector) {
        Value sum;
        for (Value tensor : tensors) {
          if (!tensor)
            continue;
          Value value = bias(tensor, gate, b.add(unit, b.i64(vector * lanes)), mask);
          sum = sum ? Value(arith::AddFOp::create(b, sum, value)) : value;
        }
        one.push_back(sum ? sum : zero());
      }
    Values all;
    for (int64_t row = 0; row < rows; ++row)
      all.append(one);
    return all;
  }

  /// What the input adds to the gates at `time`, with the biases of `tensors` where it was not multiplied before.
  Values inputSums(const Values &rows, Value time, ArrayRef<int64_t> gates, int64_t vectors, Value unit, Value mask,
                   ArrayRef<Value> tensors) {
    int64_t count = rows.size();
    Values sums = biases(count, gates, vectors, unit, mask, tensors);
    if (cell.projected) {
      for (int64_t row = 0, number = 0; row < count; ++row)
        for (int64_t gate : gates)
          for (int64_t vector = 0; vector < vectors; ++vector, ++number) {
            Value column = b.add(unit, b.i64(gate * hidden + vector * lanes));
            Value input = ElementReader(*operands, lanes, mask).readWide(cell.projected, {rows[row], time, column}, 2);
            sums[number] = arith::AddFOp::create(b, sums[number], input);
          }
      return sums;
    }
    return contract(count, gates, vectors, unit, mask, inputs, inputPanel, sums, [&](int64_t row, Value k) {
      return ElementReader(*operands).readWide(cell.x, {rows[row], time, k});
    });
  }

  //===--------------------------------------------------------------------===//
  // Time
  //===--------------------------------------------------------------------===//

  /// A few batch rows through all steps.
  void emitRows(const Values &rows, Value steps) {
    auto initialise = [&](Value tensor, int64_t buffer) {
      for (auto [number, row] : llvm::enumerate(rows))
        forUnits(1, [&](Value unit, int64_t, Value mask) {
          Value value = tensor ? ElementReader(*operands, lanes, mask).readWide(tensor, {row, unit}, 1)
                               : zero();
          storeState(value, b.i64(buffer), number, unit, mask);
        });
    };
    initialise(cell.h0, 0);
    if (cell.kind == CellKind::Lstm)
      initialise(cell.c0, kCellState);

    b.loop(b.i64(0), steps, [&](Value step) {
      Value time = cell.reverse ? b.sub(b.sub(steps, b.i64(1)), step) : step;
      Value before = b.rem(step, b.i64(2)), after = b.sub(b.i64(1), before);
      emitStep(rows, time, before, after);
    });

    Value last = b.rem(steps, b.i64(2));
    storeFinal(1, rows, last);
    if (cell.kind == CellKind::Lstm)
      storeFinal(2, rows, b.i64(kCellState));
  }

  /// Writes the op's result `number` from a state, if the kernel yields it.
  void storeFinal(unsigned number, const Values &rows, Value buffer) {
    forYielded(number, [&](unsigned result) {
      for (auto [place, row] : llvm::enumerate(rows))
        forUnits(1, [&](Value unit, int64_t, Value mask) {
          operands->store(result, {row, unit}, loadState(buffer, place, unit, mask), 1, mask);
        });
    });
  }

  void forYielded(unsigned number, function_ref<void(unsigned)> body) {
    for (unsigned result = 0; result < kernel.getNumResults(); ++result)
      if (operands->yielded(result) == cell.op->getResult(number))
        body(result);
  }

  void emitStep(const Values &rows, Value time, Value before, Value after) {
    int64_t count = rows.size();
    auto readState = [&](Value buffer) {
      return [this, buffer](int64_t row, Value k) { return b.load(element, stateAtUnit(buffer, row, k)); };
    };
    auto finish = [&](Value h, int64_t row, Value unit, Value mask) {
      storeState(h, after, row, unit, mask);
      forYielded(0, [&](unsigned result) {
        operands->store(result, {rows[row], time, unit}, h, 2, mask);
      });
    };
    // As many vectors as keep about 16 sums in registers.
    auto vectorsFor = [&](int64_t sumsPerVector) {
      int64_t sums = b.target.vectorRegisters / 2;
      return std::clamp<int64_t>(sums / (sumsPerVector * count), 1, 4);
    };

    if (cell.kind == CellKind::Gru && cell.resetBefore) {
      emitResetBefore(rows, time, vectorsFor(2), readState(before), before);
      forUnits(vectorsFor(1), [&](Value unit, int64_t vectors, Value mask) {
        Values sums = inputSums(rows, time, {2}, vectors, unit, mask, {cell.bIh, cell.bHh});
        sums = contract(count, {2}, vectors, unit, mask, hidden, hiddenPanel, sums,
                        readState(b.i64(kResetState)));
        forVectors(count, vectors, unit, [&](int64_t row, int64_t vector, Value place) {
          Value z = loadState(b.i64(kUpdateGate), row, place, mask);
          Value h = loadState(before, row, place, mask);
          finish(mix(z, formula().tanh(sums[row * vectors + vector]), h), row, place, mask);
        });
      });
      return;
    }

    // The hidden part of GRU's third gate stays apart, as a fourth sum.
    bool isGru = cell.kind == CellKind::Gru;
    SmallVector<int64_t> gates = llvm::to_vector(llvm::seq<int64_t>(0, cell.gates));
    forUnits(vectorsFor(isGru ? 4 : cell.gates), [&](Value unit, int64_t vectors, Value mask) {
      SmallVector<Value> all = {cell.bIh, cell.bHh};
      Values sums = inputSums(rows, time, gates, vectors, unit, mask,
                              ArrayRef<Value>(all).take_front(isGru ? 1 : 2));
      Values hiddenSums = sums;
      if (isGru) {
        // r and z take both parts, n's hidden part starts from its own bias.
        Values own = biases(count, gates, vectors, unit, mask, {cell.bHh});
        for (int64_t row = 0; row < count; ++row)
          for (int64_t i = 0; i < 3 * vectors; ++i) {
            Value &sum = hiddenSums[row * 3 * vectors + i];
            Value bias = own[row * 3 * vectors + i];
            sum = i < 2 * vectors ? Value(arith::AddFOp::create(b, sum, bias)) : bias;
          }
      }
      hiddenSums = contract(count, gates, vectors, unit, mask, hidden, hiddenPanel, hiddenSums, readState(before));
      forVectors(count, vectors, unit, [&](int64_t row, int64_t vector, Value place) {
        auto gate = [&](const Values &of, int64_t number) {
          return of[(row * cell.gates + number) * vectors + vector];
        };
        nn::ScalarFormula f = formula();
        switch (cell.kind) {
        case CellKind::Rnn: {
          Value sum = gate(hiddenSums, 0);
          finish(cell.isRelu ? f.max(sum, zero()) : f.tanh(sum), row, place, mask);
          return;
        }
        case CellKind::Lstm: {
          Value c = loadState(b.i64(kCellState), row, place, mask);
          Value kept = f.mul(f.sigmoid(gate(hiddenSums, 1)), c);
          Value added = f.mul(f.sigmoid(gate(hiddenSums, 0)), f.tanh(gate(hiddenSums, 2)));
          c = f.add(kept, added);
          storeState(c, b.i64(kCellState), row, place, mask);
          finish(f.mul(f.sigmoid(gate(hiddenSums, 3)), f.tanh(c)), row, place, mask);
          return;
        }
        case CellKind::Gru: {
          Value r = f.sigmoid(gate(hiddenSums, 0)), z = f.sigmoid(gate(hiddenSums, 1));
          Value n = f.tanh(f.add(gate(sums, 2), f.mul(r, gate(hiddenSums, 2))));
          finish(mix(z, n, loadState(before, row, place, mask)), row, place, mask);
          return;
        }
        }
      });
    });
  }

  /// r and z for all units: the reset state r * h and z go to scratch memory.
  void emitResetBefore(const Values &rows, Value time, int64_t wide,
                       function_ref<Value(int64_t, Value)> readState, Value before) {
    int64_t count = rows.size();
    forUnits(wide, [&](Value unit, int64_t vectors, Value mask) {
      Values sums = inputSums(rows, time, {0, 1}, vectors, unit, mask, {cell.bIh, cell.bHh});
      sums = contract(count, {0, 1}, vectors, unit, mask, hidden, hiddenPanel, sums, readState);
      forVectors(count, vectors, unit, [&](int64_t row, int64_t vector, Value place) {
        Value r = formula().sigmoid(sums[row * 2 * vectors + vector]);
        Value z = formula().sigmoid(sums[(row * 2 + 1) * vectors + vector]);
        Value h = loadState(before, row, place, mask);
        storeState(formula().mul(r, h), b.i64(kResetState), row, place, mask);
        storeState(z, b.i64(kUpdateGate), row, place, mask);
      });
    });
  }

  /// (1 - z) * n + z * h.
  Value mix(Value z, Value n, Value h) {
    nn::ScalarFormula f = formula();
    return f.add(f.mul(f.sub(b.floatConstant(vectorType, 1.0), z), n), f.mul(z, h));
  }

  void forVectors(int64_t rows, int64_t vectors, Value unit,
                  function_ref<void(int64_t, int64_t, Value)> body) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t vector = 0; vector < vectors; ++vector)
        body(row, vector, b.add(unit, b.i64(vector * lanes)));
  }

  KernelBuilder &b;
  nn::KernelOp kernel;
  Cell cell;
  std::optional<KernelOperands> operands;
  int64_t inputs, hidden, lanes, rowsPerTask;
  nn::Dim batch, stepCount;
  Type element;
  VectorType vectorType;
  int64_t scratchElements = 0, hiddenPanelAt = 0, stateAt = 0;
  Panel inputPanel, hiddenPanel;
};

} // namespace

FailureOr<EmittedKernel> codegen::emitRecurrence(KernelBuilder &b, nn::KernelOp kernel,
                                                 StringRef symbol) {
  Operation *anchor = nn::anchorOf(kernel);
  for (Value value : kernel.getTerminator()->getOperands())
    if (value.getDefiningOp() != anchor)
      return kernel.emitOpError("has ops behind its recurrence");
  return RecurrenceEmitter(b, kernel).emit(symbol);
}
