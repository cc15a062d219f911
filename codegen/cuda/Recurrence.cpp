// nn.recurrence in one kernel: a block takes a few batch rows through all time steps, so that no step waits for another block. The
// product of the input stands in memory already; what a step adds is the product of the last state with the hidden weights, and the
// gates.
//
// The states of the block's rows lie in shared memory, once as they were and once as they become. A hidden unit belongs to kParts
// neighbouring threads, which share the terms of its sums among them; all gates of the unit and all rows of the block are summed
// together, so that a weight that was read once serves every row. Small layers keep their weights in registers for all steps. Larger
// ones read them from the cache in each step: neighbouring threads read neighbouring units, which lie side by side where the weight
// was turned beforehand (pack-weights).

#include "codegen/cuda/EmitKernel.h"
#include "codegen/cuda/RecurrencePlan.h"
#include "ir/ops/ScalarFormula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

class RecurrenceEmitter {
public:
  RecurrenceEmitter(KernelCode &code, nn::RecurrenceOp op, const RecurrencePlan &plan);
  EmittedKernel emit();

private:
  /// One of the states whose gates a thread applies: its row of the block, number `row` of the batch, and its unit.
  struct Own {
    Value f, u;
    Value blockRow, row, unit, isOwn;
  };
  /// A position along a dimension of a local array.
  struct Position {
    Value index;
    int64_t extent;
  };
  struct Gates {
    int64_t first, count;
  };

  void each(StringRef variable, int64_t extent, function_ref<void(Value index)> body, StringRef extentName = "");
  void eachRow(function_ref<void(Value r)> body) { each("r", plan.rows, body, "kRows"); }
  void eachOwn(function_ref<void(const Own &)> body);
  Own declareOwn(Value f, Value u);
  /// The element of a local array; the array has no dimension where the extent is 1.
  std::string element(StringRef name, ArrayRef<Position> positions);
  std::string array(StringRef name, ArrayRef<int64_t> extents);
  Value ownElement(StringRef name, const Own &own) {
    return code.atom(type, element(name, {{own.f, plan.ownRows()}, {own.u, plan.units}}));
  }
  Value gateElement(StringRef name, const Own &own, Value gate, Gates gates) {
    return code.atom(type, element(name, {{own.f, plan.ownRows()}, {own.u, plan.units}, {gate, gates.count}}));
  }
  /// Where the state lies in shared memory.
  std::string place(StringRef buffer, const Own &own) {
    return ("hidden[" + buffer + "][" + code.print(own.blockRow) + "][" + code.print(own.unit) + "]").str();
  }

  void declareShared();
  void initialise();
  void loadResidentWeights();
  Value weightAt(Value k, Value gate, Value column);
  void loadInput();
  void contract(StringRef buffer, Gates gates);
  void collectOwnSums(Gates gates);
  void applyGates(const Own &own);
  void applyResetAndUpdate(const Own &own);
  void finishStep(const Own &own, Value h);
  void storeLast();
  Value mix(Value update, Value candidate, Value h);
  void forYielded(unsigned number, function_ref<void(unsigned result)> body);

  /// The array with the sums of the rows whose gates this thread applies.
  StringRef sums() const { return plan.parts == 1 ? "sum" : "gate"; }
  Value unitAt(Value u) { return code.add(code.index("unit"), code.mul(u, code.size(plan.stride))); }
  Value part() { return plan.parts == 1 ? code.size(0) : code.index("part"); }
  Value gateColumn(Value gate, Value unit) { return code.add(code.mul(gate, code.size(hidden)), unit); }

  KernelCode &code;
  nn::RecurrenceOp op;
  RecurrencePlan plan;
  int64_t hidden, gateCount;
  nn::Dim batch, steps;
  Type type; ///< in which is computed
  std::string cpp;
  bool resetsBefore;
  std::optional<Own> onlyOwn;
};

} // namespace

static Type computeType(nn::RecurrenceOp op) {
  Type element = cast<RankedTensorType>(op.getProjected().getType()).getElementType();
  return element.isF64() ? element : Type(Float32Type::get(op.getContext()));
}

RecurrenceEmitter::RecurrenceEmitter(KernelCode &code, nn::RecurrenceOp op, const RecurrencePlan &plan)
    : code(code), op(op), plan(plan), hidden(op.hiddenSize()), gateCount(op.gateCount()), type(computeType(op)),
      cpp(cppType(type, code.wideIndex)), resetsBefore(op.getCell() == nn::RecurrentCell::GruResetBefore) {
  auto projected = cast<RankedTensorType>(op.getProjected().getType());
  batch = nn::dimOf(projected, 0);
  steps = nn::dimOf(projected, 1);
  code.nameOperand(op.getProjected(), "projected");
  code.nameOperand(op.getWHh(), "weight");
  if (op.getBiasHh())
    code.nameOperand(op.getBiasHh(), "bias");
  if (op.getH0())
    code.nameOperand(op.getH0(), "h0");
  if (op.getC0())
    code.nameOperand(op.getC0(), "c0");
  for (unsigned number = 0; number < op->getNumResults(); ++number)
    forYielded(number, [&](unsigned result) { code.nameResult(result, code.freshName(number == 0 ? "y" : number == 1 ? "h" : "c")); });
  code.reserve({"thread", "part", "unit", "row", "block_row", "is_own", "i", "r", "g", "k", "f", "u", "p", "step", "time", "now",
                "hidden", "state", "sum", "gate", "input", "own_h", "own_c", "own_bias", "own_weight", "update", "w"});
}

void RecurrenceEmitter::forYielded(unsigned number, function_ref<void(unsigned)> body) {
  for (unsigned result = 0; result < code.kernel.getNumResults(); ++result)
    if (code.storedValue(result) == op->getResult(number))
      body(result);
}

void RecurrenceEmitter::each(StringRef variable, int64_t extent, function_ref<void(Value)> body, StringRef extentName) {
  if (extent == 1)
    return body(code.size(0));
  std::string end = extentName.empty() ? std::to_string(extent) : extentName.str();
  code.line("#pragma unroll");
  code.open("for (int " + variable + " = 0; " + variable + " < " + end + "; ++" + variable + ")");
  body(code.index(variable));
  code.close();
}

RecurrenceEmitter::Own RecurrenceEmitter::declareOwn(Value f, Value u) {
  Own own{f, u, {}, {}, {}, {}};
  std::string index = code.indexType();
  own.blockRow = code.add(code.mul(f, code.size(plan.parts)), part());
  code.line("const " + index + " row = " + code.print(code.add(code.index("first_row"), own.blockRow)) + ";");
  own.row = code.index("row");
  own.unit = unitAt(u);
  std::string condition = "row < " + code.print(code.dim(batch));
  if (plan.rows < plan.parts)
    condition += " && part < " + std::to_string(plan.rows);
  if (plan.stride * plan.units != hidden)
    condition += " && " + code.print(own.unit) + " < " + std::to_string(hidden);
  code.line("const bool is_own = " + condition + ";");
  own.isOwn = code.atom(code.getI1Type(), "is_own");
  return own;
}

void RecurrenceEmitter::eachOwn(function_ref<void(const Own &)> body) {
  if (onlyOwn)
    return body(*onlyOwn);
  each("f", plan.ownRows(), [&](Value f) {
    each("u", plan.units, [&](Value u) { body(declareOwn(f, u)); });
  });
}

std::string RecurrenceEmitter::element(StringRef name, ArrayRef<Position> positions) {
  std::string text = name.str();
  for (const Position &position : positions)
    if (position.extent > 1)
      text += "[" + code.print(position.index) + "]";
  return text;
}

std::string RecurrenceEmitter::array(StringRef name, ArrayRef<int64_t> extents) {
  std::string text = name.str();
  for (int64_t extent : extents)
    if (extent > 1)
      text += "[" + std::to_string(extent) + "]";
  return text;
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

void RecurrenceEmitter::declareShared() {
  std::string kParts = plan.parts > 1 ? ", kParts = " + std::to_string(plan.parts) : "";
  code.line("constexpr int kRows = " + Twine(plan.rows) + kParts + ", kPadded = " + Twine(plan.padded) + ";");
  code.line(resetsBefore ? "// The states, and the states times the reset gate." : "// The states before a step and behind it.");
  constexpr int64_t kOther = 64; // gates, inputs, addresses
  code.registers = (plan.isResident ? kWeightRegisters : 0) + kSumRegisters + kOther;
  code.declareShared(type, "hidden[2][kRows][kPadded]", 2 * plan.rows * plan.padded);
  code.line("const int thread = threadIdx.x;");
  if (plan.parts > 1)
    code.line("const int part = thread % kParts;");
  code.line(plan.parts > 1 ? "const int unit = thread / kParts;" : "const int unit = thread;");
  Value first = code.mul(code.index("(" + code.indexType() + ")blockIdx.x"), code.index("kRows"));
  code.line("const " + code.indexType() + " first_row = " + code.print(first) + ";");
}

void RecurrenceEmitter::initialise() {
  code.blank();
  code.line("for (int i = thread; i < 2 * kRows * kPadded; i += " + Twine(plan.threads()) + ")");
  code.line("  (&hidden[0][0][0])[i] = 0;");
  code.line("__syncthreads();");
  code.blank();
  code.line(plan.parts == 1 ? "// This thread applies the gates of all rows to its unit, and keeps those states at hand."
                            : "// This thread applies the gates of every kParts-th row to its unit, and keeps that state at hand.");
  if (plan.ownRows() == 1 && plan.units == 1)
    onlyOwn = declareOwn(code.size(0), code.size(0));
  auto declareState = [&](StringRef name, Value initial) {
    std::string declaration = cpp + " " + array(name, {plan.ownRows(), plan.units});
    if (!initial)
      return code.line(declaration + (onlyOwn ? " = 0;" : " = {};"));
    code.line(declaration + ";");
    eachOwn([&](const Own &own) {
      std::string text = code.print(code.select(own.isOwn, code.read(initial, {own.row, own.unit}), code.constant(type, 0)));
      code.line(code.print(ownElement(name, own)) + " = " + text + ";");
    });
  };
  declareState("own_h", op.getH0());
  if (op.getCell() == nn::RecurrentCell::Lstm)
    declareState("own_c", op.getC0());
  if (op.getH0())
    eachOwn([&](const Own &own) {
      code.line("if (is_own)");
      code.line("  " + place("0", own) + " = " + code.print(ownElement("own_h", own)) + ";");
    });
  if (op.getBiasHh()) {
    code.line(cpp + " " + array("own_bias", {plan.units, gateCount}) + ";");
    each("u", plan.units, [&](Value u) {
      each("g", gateCount, [&](Value g) {
        Value unit = code.min(unitAt(u), code.size(hidden - 1));
        std::string text = code.print(code.read(op.getBiasHh(), gateColumn(g, unit)));
        code.line(element("own_bias", {{u, plan.units}, {g, gateCount}}) + " = " + text + ";");
      });
    });
  }
}

/// The weight of unit `unit` (threads without one read another's) for term `k` of `gate`; zero behind the last term.
Value RecurrenceEmitter::weightAt(Value k, Value gate, Value unit) {
  if (plan.stride * plan.units != hidden)
    unit = code.min(unit, code.size(hidden - 1));
  Value weight = code.read(op.getWHh(), {gateColumn(gate, unit), k});
  return plan.padded == hidden ? weight : code.select(code.less(k, code.size(hidden)), weight, code.constant(type, 0));
}

void RecurrenceEmitter::loadResidentWeights() {
  code.blank();
  code.line("// The weights of this thread's unit and part.");
  int64_t vectors = plan.vectorsPerPart();
  code.line(cpp + " " + array("own_weight", {vectors, plan.vector, gateCount}) + ";");
  each("i", vectors, [&](Value i) {
    each("j", plan.vector, [&](Value j) {
      Value k = code.add(code.mul(code.add(code.mul(i, code.size(plan.parts)), part()), code.size(plan.vector)), j);
      each("g", gateCount, [&](Value g) {
        std::string text = code.print(weightAt(k, g, unitAt(code.size(0))));
        code.line(element("own_weight", {{i, vectors}, {j, plan.vector}, {g, gateCount}}) + " = " + text + ";");
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

void RecurrenceEmitter::loadInput() {
  code.line("// What the input adds: on its way while the states are multiplied.");
  code.line(cpp + " " + array("input", {plan.ownRows(), plan.units, gateCount}) + ";");
  eachOwn([&](const Own &own) {
    each("g", gateCount, [&](Value g) {
      Value value = code.read(op.getProjected(), {own.row, code.index("time"), gateColumn(g, own.unit)});
      std::string text = code.print(code.select(own.isOwn, value, code.constant(type, 0)));
      code.line(code.print(gateElement("input", own, g, {0, gateCount})) + " = " + text + ";");
    });
  });
}

/// The sums over the states in `buffer`, for some of the gates: of every row, in every thread of a unit.
void RecurrenceEmitter::contract(StringRef buffer, Gates gates) {
  std::string vector = std::to_string(plan.vector);
  auto sumAt = [&](Value r, Value u, Value g) {
    return element("sum", {{r, plan.rows}, {u, plan.units}, {g, gates.count}});
  };
  code.line(cpp + " " + array("sum", {plan.rows, plan.units, gates.count}) +
            (plan.rows * plan.units * gates.count > 1 ? " = {};" : " = 0;"));
  // Enough loads at once to hide the way to the cache.
  int64_t loads = plan.vector * plan.units * gates.count;
  std::string unroll = plan.isResident ? "" : " " + std::to_string(std::clamp<int64_t>(16 / loads, 1, 4));
  code.line("#pragma unroll" + unroll);
  code.open("for (int i = 0; i < " + Twine(plan.vectorsPerPart()) + "; ++i)");
  Value first = code.mul(code.add(code.mul(code.index("i"), code.size(plan.parts)), part()), code.size(plan.vector));
  code.line("const int k = " + code.print(first) + ";");
  code.line("Vector<" + cpp + ", " + vector + "> " + array("state", {plan.rows}) + ";");
  eachRow([&](Value r) {
    code.line(element("state", {{r, plan.rows}}) + " = load<" + vector + ">(&hidden[" + buffer + "][" + code.print(r) + "][k]);");
  });
  each("j", plan.vector, [&](Value j) {
    if (!plan.isResident) {
      code.line(cpp + " " + array("w", {plan.units, gates.count}) + ";");
      each("u", plan.units, [&](Value u) {
        each("g", gates.count, [&](Value g) {
          Value gate = code.add(g, code.size(gates.first));
          std::string text = code.print(weightAt(code.add(code.index("k"), j), gate, unitAt(u)));
          code.line(element("w", {{u, plan.units}, {g, gates.count}}) + " = " + text + ";");
        });
      });
    }
    eachRow([&](Value r) {
      each("u", plan.units, [&](Value u) {
        each("g", gates.count, [&](Value g) {
          std::string weight = plan.isResident
                                   ? element("own_weight", {{code.index("i"), plan.vectorsPerPart()},
                                                            {j, plan.vector},
                                                            {code.add(g, code.size(gates.first)), gateCount}})
                                   : element("w", {{u, plan.units}, {g, gates.count}});
          code.line(sumAt(r, u, g) + " += " + element("state", {{r, plan.rows}}) + ".at[" + code.print(j) + "] * " + weight + ";");
        });
      });
    });
  });
  code.close();
  if (plan.parts == 1)
    return;
  code.line("#pragma unroll");
  code.open("for (int offset = kParts / 2; offset > 0; offset /= 2)");
  eachRow([&](Value r) {
    each("u", plan.units, [&](Value u) {
      each("g", gates.count, [&](Value g) {
        code.line(sumAt(r, u, g) + " += shuffle_xor(" + sumAt(r, u, g) + ", offset);");
      });
    });
  });
  code.close();
}

/// gate = the sums of the rows whose gates this thread applies, which with one part are all. Every sum is named by constants, or the
/// array would leave the registers.
void RecurrenceEmitter::collectOwnSums(Gates gates) {
  if (plan.parts == 1)
    return;
  int64_t size = plan.ownRows() * plan.units * gates.count;
  code.line(cpp + " " + array("gate", {plan.ownRows(), plan.units, gates.count}) + (size > 1 ? " = {};" : " = 0;"));
  each("f", plan.ownRows(), [&](Value f) {
    each("p", std::min(plan.parts, plan.rows), [&](Value p) {
      code.open("if (part == " + code.print(p) + ")");
      each("u", plan.units, [&](Value u) {
        each("g", gates.count, [&](Value g) {
          Value r = code.add(code.mul(f, code.size(plan.parts)), p);
          code.line(element("gate", {{f, plan.ownRows()}, {u, plan.units}, {g, gates.count}}) + " = " +
                    element("sum", {{r, plan.rows}, {u, plan.units}, {g, gates.count}}) + ";");
        });
      });
      code.close();
    });
  });
}

/// (1 - update) * candidate + update * h.
Value RecurrenceEmitter::mix(Value update, Value candidate, Value h) {
  nn::ScalarFormula f(code, code.getLoc());
  return f.add(f.mul(f.sub(code.constant(type, 1), update), candidate), f.mul(update, h));
}

/// The new state: kept, put into shared memory for the next step, and written to y.
void RecurrenceEmitter::finishStep(const Own &own, Value h) {
  std::string text = code.print(h), kept = code.print(ownElement("own_h", own));
  code.line(kept + " = " + text + ";");
  code.open("if (is_own)");
  code.line(place(resetsBefore ? "0" : "now ^ 1", own) + " = " + kept + ";");
  forYielded(0, [&](unsigned result) {
    Value offset = code.placeIn(code.resultMemory(result), {own.row, code.index("time"), own.unit});
    code.store(result, offset, ownElement("own_h", own));
  });
  code.close();
}

void RecurrenceEmitter::applyGates(const Own &own) {
  nn::ScalarFormula f(code, code.getLoc());
  Gates all{0, gateCount};
  auto of = [&](StringRef name, int64_t gate) { return gateElement(name, own, code.size(gate), all); };
  auto named = [&](StringRef name, Value value) {
    code.declare(value, name);
    return value;
  };
  auto bias = [&](int64_t gate) {
    return code.atom(type, element("own_bias", {{own.u, plan.units}, {code.size(gate), gateCount}}));
  };
  auto fromState = [&](int64_t gate) { return op.getBiasHh() ? f.add(of(sums(), gate), bias(gate)) : of(sums(), gate); };
  auto whole = [&](int64_t gate) { return f.add(of("input", gate), fromState(gate)); };
  switch (op.getCell()) {
  case nn::RecurrentCell::RnnTanh:
    return finishStep(own, f.tanh(whole(0)));
  case nn::RecurrentCell::RnnRelu:
    return finishStep(own, f.max(whole(0), code.constant(type, 0)));
  case nn::RecurrentCell::Lstm: {
    Value added = named("input_gate", f.sigmoid(whole(0))), kept = named("forget_gate", f.sigmoid(whole(1)));
    Value candidate = named("candidate", f.tanh(whole(2))), shown = named("output_gate", f.sigmoid(whole(3)));
    std::string text = code.print(f.add(f.mul(kept, ownElement("own_c", own)), f.mul(added, candidate)));
    code.line(code.print(ownElement("own_c", own)) + " = " + text + ";");
    return finishStep(own, f.mul(shown, f.tanh(ownElement("own_c", own))));
  }
  case nn::RecurrentCell::Gru: {
    Value reset = named("reset_gate", f.sigmoid(whole(0))), update = named("update_gate", f.sigmoid(whole(1)));
    Value candidate = named("candidate", f.tanh(f.add(of("input", 2), f.mul(reset, fromState(2)))));
    return finishStep(own, mix(update, candidate, ownElement("own_h", own)));
  }
  case nn::RecurrentCell::GruResetBefore: {
    // The third gate alone: the other two have been applied.
    Value sum = f.add(of("input", 2), gateElement(sums(), own, code.size(0), {2, 1}));
    if (op.getBiasHh())
      sum = f.add(sum, bias(2));
    return finishStep(own, mix(ownElement("update", own), named("candidate", f.tanh(sum)), ownElement("own_h", own)));
  }
  }
}

/// The state times the reset gate goes to shared memory, the update gate is kept.
void RecurrenceEmitter::applyResetAndUpdate(const Own &own) {
  nn::ScalarFormula f(code, code.getLoc());
  auto gate = [&](int64_t number) {
    Value sum = f.add(gateElement("input", own, code.size(number), {0, gateCount}),
                      gateElement(sums(), own, code.size(number), {0, 2}));
    if (op.getBiasHh())
      sum = f.add(sum, code.atom(type, element("own_bias", {{own.u, plan.units}, {code.size(number), gateCount}})));
    return f.sigmoid(sum);
  };
  std::string update = code.print(gate(1));
  code.line(code.print(ownElement("update", own)) + " = " + update + ";");
  code.open("if (is_own)");
  std::string text = code.print(f.mul(gate(0), ownElement("own_h", own)));
  code.line(place("1", own) + " = " + text + ";");
  code.close();
}

void RecurrenceEmitter::storeLast() {
  auto write = [&](unsigned number, StringRef name, const Own &own) {
    forYielded(number, [&](unsigned result) {
      code.store(result, code.placeIn(code.resultMemory(result), {own.row, own.unit}), ownElement(name, own));
    });
  };
  eachOwn([&](const Own &own) {
    code.open("if (is_own)");
    write(1, "own_h", own);
    if (op->getNumResults() > 2)
      write(2, "own_c", own);
    code.close();
  });
}

EmittedKernel RecurrenceEmitter::emit() {
  code.note("a block takes " + Twine(plan.rows) + (plan.rows == 1 ? " batch row" : " batch rows") + " through all steps, " +
            Twine(plan.parts) + (plan.parts == 1 ? " thread" : " threads") + " for a hidden unit");
  code.note(plan.isResident ? "the weights stay in registers" : "the weights come from the cache in each step");
  declareShared();
  initialise();
  if (plan.isResident)
    loadResidentWeights();
  code.line("__syncthreads();");
  code.blank();
  std::string end = code.print(code.dim(steps));
  code.open("for (" + code.indexType() + " step = 0; step < " + end + "; ++step)");
  Value step = code.index("step");
  Value time = op.getReverse() ? code.sub(code.sub(code.dim(steps), code.size(1)), step) : step;
  code.line("const " + code.indexType() + " time = " + code.print(time) + ";");
  loadInput();
  if (resetsBefore) {
    code.line(cpp + " " + array("update", {plan.ownRows(), plan.units}) + ";");
    code.open("");
    contract("0", {0, 2});
    collectOwnSums({0, 2});
    eachOwn([&](const Own &own) { applyResetAndUpdate(own); });
    code.close();
    code.line("__syncthreads();");
    contract("1", {2, 1});
    collectOwnSums({2, 1});
  } else {
    code.line("const int now = step % 2;");
    contract("now", {0, gateCount});
    collectOwnSums({0, gateCount});
  }
  eachOwn([&](const Own &own) { applyGates(own); });
  code.line("__syncthreads();");
  code.close();
  storeLast();
  CudaLaunch launch;
  launch.threads = plan.threads();
  launch.gridX = batch.ceilDiv(plan.rows);
  return code.finish(launch);
}

FailureOr<EmittedKernel> cuda::emitRecurrence(KernelCode &code) {
  auto op = cast<nn::RecurrenceOp>(nn::anchorOf(code.kernel));
  for (unsigned result = 0; result < code.kernel.getNumResults(); ++result)
    if (code.storedValue(result).getDefiningOp() != op)
      return code.kernel.emitOpError("has ops behind its recurrence");
  auto projected = cast<RankedTensorType>(op.getProjected().getType());
  int64_t storedBytes = projected.getElementTypeBitWidth() / 8, computedBytes = computeType(op).getIntOrFloatBitWidth() / 8;
  std::optional<RecurrencePlan> plan = planRecurrence(op.hiddenSize(), op.gateCount(), nn::constantOf(nn::dimOf(projected, 0)),
                                                      storedBytes, computedBytes);
  if (!plan)
    return code.kernel.emitOpError("has ") << op.hiddenSize() << " hidden units, whose states do not fit the shared memory of a "
                                              "block (" << kSharedBytes << " bytes)";
  return RecurrenceEmitter(code, op, *plan).emit();
}
