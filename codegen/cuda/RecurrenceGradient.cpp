// nn.recurrence_gradient in one kernel: a block takes a few batch rows through all time steps, from the last to the first, so that no
// step waits for another block.
//
// What the states get lies in shared memory, and so do the gradients of the gates, which a step makes of it. The threads make them
// element by element; then each hidden unit's kParts neighbouring threads multiply the gates of all rows of the block with the unit's
// column of w_hh, so that a weight that was read once serves every row, and neighbouring units read neighbouring weights.

#include "codegen/cuda/EmitKernel.h"
#include "codegen/cuda/RecurrencePlan.h"
#include "ir/ops/ScalarFormula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

/// How a block cuts its work; the names are those of RecurrencePlan.
struct Plan {
  int64_t vector, rows = 4, parts = 1, units, stride, padded;
  int64_t threads() const { return stride * parts; }
};

class RecurrenceGradientEmitter {
public:
  RecurrenceGradientEmitter(KernelCode &code, nn::RecurrenceGradientOp op, const Plan &plan);
  EmittedKernel emit();

private:
  /// Where an element of the states lies: row of the block and of the batch, unit.
  struct Place {
    Value blockRow, row, unit;
  };

  void each(StringRef variable, int64_t extent, function_ref<void(Value index)> body);
  void eachElement(function_ref<void(const Place &)> body);
  void initialise();
  void applyFactors(const Place &place);
  void contract(int64_t firstGate, int64_t gates, function_ref<void(const Place &, Value sum)> use);
  void storeStates();

  void set(const std::string &target, Value value) {
    std::string text = code.print(value);
    code.line(target + " = " + text + ";");
  }
  void store(unsigned number, ArrayRef<Value> index, Value value) {
    for (unsigned result = 0; result < code.kernel.getNumResults(); ++result)
      if (code.storedValue(result) == op->getResult(number))
        code.store(result, code.placeIn(code.resultMemory(result), index), value);
  }
  void giveGate(int64_t gate, Value value, const Place &place) {
    code.declare(value, "given");
    set(gateText(gate, place), value);
    store(0, {place.row, code.index("time"), code.add(place.unit, code.size(gate * hidden))}, value);
  }
  std::string stateText(StringRef name, const Place &place) {
    return (name + "[" + code.print(place.blockRow) + "][" + code.print(place.unit) + "]").str();
  }
  std::string gateText(int64_t gate, const Place &place) {
    return "gate[" + code.print(place.blockRow) + "][" + std::to_string(gate) + "][" + code.print(place.unit) + "]";
  }
  Value state(StringRef name, const Place &place) { return code.atom(type, stateText(name, place)); }
  Value factor(int64_t number, const Place &place) {
    return code.read(op.getFactors()[number], {place.row, code.index("time"), place.unit});
  }
  void addTo(StringRef name, const Place &place, Value value) {
    std::string text = code.print(value);
    code.line(stateText(name, place) + " += " + text + ";");
  }
  Value part() { return plan.parts == 1 ? code.size(0) : code.index("part"); }

  KernelCode &code;
  nn::RecurrenceGradientOp op;
  Plan plan;
  int64_t hidden, gateCount;
  nn::Dim batch, steps;
  Type type;
  std::string cpp, index;
  bool isLstm;
};

} // namespace

/// Nothing where the states of one row do not fit the shared memory of a block.
static std::optional<Plan> planGradient(nn::RecurrenceGradientOp op) {
  int64_t hidden = op.hiddenSize(), gates = nn::RecurrenceOp::gateCountOf(op.getCell());
  int64_t bytes = cast<RankedTensorType>(op.getWHh().getType()).getElementTypeBitWidth() / 8;
  int64_t states = op.getCell() == nn::RecurrentCell::Lstm ? 2 : 1;
  constexpr int64_t kMostThreads = 512;
  Plan plan;
  plan.vector = 16 / bytes;
  // The parts of a unit read from different rows of the weight: a warp must still read whole sectors of 32 bytes.
  while (plan.parts < bytes && hidden * plan.parts * 2 <= kMostThreads)
    plan.parts *= 2;
  plan.padded = llvm::alignTo(hidden, plan.vector * plan.parts);
  plan.units = llvm::divideCeil(hidden, kMostThreads / plan.parts);
  plan.stride = llvm::alignTo(llvm::divideCeil(hidden, plan.units) * plan.parts, 32) / plan.parts;
  if (std::optional<int64_t> rows = nn::constantOf(nn::dimOf(cast<RankedTensorType>(op.getProjected().getType()), 0)))
    plan.rows = std::min<int64_t>(plan.rows, llvm::PowerOf2Ceil(std::max<int64_t>(*rows, 1)));
  auto sharedBytes = [&] { return plan.rows * (gates + states) * plan.padded * bytes; };
  while (plan.rows > 1 && (plan.rows * plan.units * (bytes / 4) > kSumRegisters || sharedBytes() > kSharedBytes))
    plan.rows /= 2;
  return sharedBytes() > kSharedBytes ? std::nullopt : std::optional(plan);
}

RecurrenceGradientEmitter::RecurrenceGradientEmitter(KernelCode &code, nn::RecurrenceGradientOp op, const Plan &plan)
    : code(code), op(op), plan(plan), hidden(op.hiddenSize()), gateCount(nn::RecurrenceOp::gateCountOf(op.getCell())),
      type(cast<RankedTensorType>(op.getWHh().getType()).getElementType()), cpp(cppType(type, code.wideIndex)),
      index(code.indexType()), isLstm(op.getCell() == nn::RecurrentCell::Lstm) {
  auto sequence = cast<RankedTensorType>(op.getFactors()[0].getType());
  batch = nn::dimOf(sequence, 0);
  steps = nn::dimOf(sequence, 1);
  code.nameOperand(op.getWHh(), "weight");
  for (auto [number, tensor] : llvm::enumerate(op.getFactors()))
    code.nameOperand(tensor, code.freshName(("factor" + Twine(number)).str()));
  if (op.getY())
    code.nameOperand(op.getY(), code.freshName("dy"));
  if (op.getH())
    code.nameOperand(op.getH(), code.freshName("dh"));
  if (op.getC())
    code.nameOperand(op.getC(), code.freshName("dc"));
  for (unsigned result = 0; result < code.kernel.getNumResults(); ++result)
    for (unsigned number = 0; number < op->getNumResults(); ++number)
      if (code.storedValue(result) == op->getResult(number))
        code.nameResult(result, code.freshName(number == 0 ? "dprojected" : number == 1 ? "dh0" : "dc0"));
  code.reserve({"thread", "part", "first_unit", "first_row", "unit", "row", "i", "r", "g", "k", "u", "step", "time", "gate", "carried",
                "cell", "sum", "w", "terms"});
}

void RecurrenceGradientEmitter::each(StringRef variable, int64_t extent, function_ref<void(Value)> body) {
  code.line("#pragma unroll");
  code.open("for (int " + variable + " = 0; " + variable + " < " + std::to_string(extent) + "; ++" + variable + ")");
  body(code.index(variable));
  code.close();
}

/// Every row of the block that the batch has, and every unit, shared out among the threads.
void RecurrenceGradientEmitter::eachElement(function_ref<void(const Place &)> body) {
  code.open("for (int i = thread; i < kRows * " + Twine(hidden) + "; i += " + Twine(plan.threads()) + ")");
  code.line("const int r = i / " + Twine(hidden) + ", unit = i % " + Twine(hidden) + ";");
  code.line("const " + index + " row = first_row + r;");
  std::string end = code.print(code.dim(batch));
  code.open("if (row < " + end + ")");
  body({code.index("r"), code.index("row"), code.index("unit")});
  code.close();
  code.close();
}

void RecurrenceGradientEmitter::initialise() {
  std::string kParts = plan.parts > 1 ? ", kParts = " + std::to_string(plan.parts) : "";
  code.line("constexpr int kRows = " + Twine(plan.rows) + kParts + ", kPadded = " + Twine(plan.padded) + ";");
  int64_t states = plan.rows * plan.padded;
  code.line("// The gradients of the gates, and what the states before the step get.");
  code.declareShared(type, "gate[kRows][" + Twine(gateCount) + "][kPadded]", gateCount * states);
  code.declareShared(type, "carried[kRows][kPadded]", states);
  if (isLstm)
    code.declareShared(type, "cell[kRows][kPadded]", states);
  constexpr int64_t kOther = 64; // weights, terms, addresses
  code.registers = kSumRegisters + kOther;
  code.line("const int thread = threadIdx.x;");
  if (plan.parts > 1)
    code.line("const int part = thread % kParts;");
  code.line(plan.parts > 1 ? "const int first_unit = thread / kParts;" : "const int first_unit = thread;");
  std::string first = code.print(code.mul(code.index("(" + index + ")blockIdx.x"), code.index("kRows")));
  code.line("const " + index + " first_row = " + first + ";");
  code.blank();
  code.line("for (int i = thread; i < " + Twine(gateCount) + " * kRows * kPadded; i += " + Twine(plan.threads()) + ")");
  code.line("  (&gate[0][0][0])[i] = 0;");
  code.line("for (int i = thread; i < kRows * kPadded; i += " + Twine(plan.threads()) + ")");
  code.line("  (&carried[0][0])[i] = 0;");
  if (isLstm) {
    code.line("for (int i = thread; i < kRows * kPadded; i += " + Twine(plan.threads()) + ")");
    code.line("  (&cell[0][0])[i] = 0;");
  }
  code.line("__syncthreads();");
  auto load = [&](Value tensor, StringRef name) {
    if (tensor)
      eachElement([&](const Place &place) { set(stateText(name, place), code.read(tensor, {place.row, place.unit})); });
  };
  load(op.getH(), "carried");
  load(op.getC(), "cell");
  code.line("__syncthreads();");
}

/// What the gradients of one state give to the gates, and to the states before without the weights.
void RecurrenceGradientEmitter::applyFactors(const Place &place) {
  nn::ScalarFormula f(code, code.getLoc());
  Value dh = state("carried", place);
  if (op.getY())
    dh = f.add(dh, code.read(op.getY(), {place.row, code.index("time"), place.unit}));
  code.declare(dh, "of_state");
  auto give = [&](int64_t gate, Value value) { giveGate(gate, value, place); };
  Value kept = code.constant(type, 0);
  switch (op.getCell()) {
  case nn::RecurrentCell::RnnTanh:
  case nn::RecurrentCell::RnnRelu:
    give(0, f.mul(dh, factor(0, place)));
    break;
  case nn::RecurrentCell::Lstm: {
    Value dc = f.add(state("cell", place), f.mul(dh, factor(4, place)));
    code.declare(dc, "of_cell");
    for (int64_t gate : {0, 1, 2})
      give(gate, f.mul(dc, factor(gate, place)));
    give(3, f.mul(dh, factor(3, place)));
    set(stateText("cell", place), f.mul(dc, factor(5, place)));
    break;
  }
  case nn::RecurrentCell::Gru: {
    give(0, f.mul(dh, factor(0, place)));
    give(1, f.mul(dh, factor(1, place)));
    Value candidate = f.mul(dh, factor(2, place));
    give(2, candidate);
    set(gateText(2, place), f.mul(candidate, factor(3, place)));
    kept = f.mul(dh, factor(4, place));
    break;
  }
  case nn::RecurrentCell::GruResetBefore:
    give(1, f.mul(dh, factor(1, place)));
    give(2, f.mul(dh, factor(2, place)));
    kept = f.mul(dh, factor(4, place));
    break;
  }
  set(stateText("carried", place), kept);
}

/// The products of some gates with their weights; `use` runs in one thread for each row and unit.
void RecurrenceGradientEmitter::contract(int64_t firstGate, int64_t gates, function_ref<void(const Place &, Value)> use) {
  auto sumAt = [&](Value r, Value u) { return "sum[" + code.print(r) + "][" + code.print(u) + "]"; };
  bool isExact = plan.stride * plan.units == hidden;
  auto unitAt = [&](Value u) { return code.add(code.index("first_unit"), code.mul(u, code.size(plan.stride))); };
  code.open("");
  code.line(cpp + " sum[kRows][" + Twine(plan.units) + "] = {};");
  code.open("for (int g = " + Twine(firstGate) + "; g < " + Twine(firstGate + gates) + "; ++g)");
  code.line("#pragma unroll " + Twine(std::clamp<int64_t>(16 / (plan.vector * plan.units), 1, 4)));
  code.open("for (int i = 0; i < " + Twine(plan.padded / plan.parts / plan.vector) + "; ++i)");
  Value first = code.mul(code.add(code.mul(code.index("i"), code.size(plan.parts)), part()), code.size(plan.vector));
  std::string text = code.print(first);
  code.line("const int k = " + text + ";");
  std::string vector = std::to_string(plan.vector);
  code.line("Vector<" + cpp + ", " + vector + "> terms[kRows];");
  each("r", plan.rows, [&](Value r) { code.line("terms[" + code.print(r) + "] = load<" + vector + ">(&gate[" + code.print(r) + "][g][k]);"); });
  each("j", plan.vector, [&](Value j) {
    each("u", plan.units, [&](Value u) {
      Value k = code.add(code.index("k"), j), unit = isExact ? unitAt(u) : code.min(unitAt(u), code.size(hidden - 1));
      bool isWhole = plan.padded == hidden;
      Value row = code.add(code.mul(code.index("g"), code.size(hidden)), isWhole ? k : code.min(k, code.size(hidden - 1)));
      Value weight = code.read(op.getWHh(), {row, unit});
      if (!isWhole)
        weight = code.select(code.less(k, code.size(hidden)), weight, code.constant(type, 0));
      std::string weightText = code.print(weight);
      code.line("const " + cpp + " w = " + weightText + ";");
      each("r", plan.rows, [&](Value r) {
        code.line(sumAt(r, u) + " += terms[" + code.print(r) + "].at[" + code.print(j) + "] * w;");
      });
    });
  });
  code.close();
  code.close();
  if (plan.parts > 1) {
    code.line("#pragma unroll");
    code.open("for (int offset = kParts / 2; offset > 0; offset /= 2)");
    each("r", plan.rows, [&](Value r) {
      each("u", plan.units, [&](Value u) { code.line(sumAt(r, u) + " += shuffle_xor(" + sumAt(r, u) + ", offset);"); });
    });
    code.close();
  }
  each("r", plan.rows, [&](Value r) {
    each("u", plan.units, [&](Value u) {
      std::string unit = code.print(unitAt(u)), end = code.print(code.dim(batch));
      code.line("const int unit = " + unit + ";");
      code.line("const " + index + " row = first_row + r;");
      code.open("if (row < " + end + (plan.parts > 1 ? " && part == 0" : "") + (isExact ? "" : " && unit < " + std::to_string(hidden)) + ")");
      use({r, code.index("row"), code.index("unit")}, code.atom(type, sumAt(r, u)));
      code.close();
    });
  });
  code.close();
  code.line("__syncthreads();");
}

void RecurrenceGradientEmitter::storeStates() {
  eachElement([&](const Place &place) {
    store(1, {place.row, place.unit}, state("carried", place));
    if (isLstm)
      store(2, {place.row, place.unit}, state("cell", place));
  });
}

EmittedKernel RecurrenceGradientEmitter::emit() {
  code.note("a block takes " + Twine(plan.rows) + (plan.rows == 1 ? " batch row" : " batch rows") + " back through all steps, " +
            Twine(plan.parts) + (plan.parts == 1 ? " thread" : " threads") + " for a hidden unit");
  initialise();
  code.blank();
  std::string end = code.print(code.dim(steps));
  code.open("for (" + index + " step = 0; step < " + end + "; ++step)");
  Value step = code.index("step");
  Value time = op.getReverse() ? step : code.sub(code.sub(code.dim(steps), code.size(1)), step);
  std::string text = code.print(time);
  code.line("const " + index + " time = " + text + ";");
  eachElement([&](const Place &place) { applyFactors(place); });
  code.line("__syncthreads();");
  auto carry = [&](const Place &place, Value sum) { addTo("carried", place, sum); };
  if (op.getCell() == nn::RecurrentCell::GruResetBefore) {
    nn::ScalarFormula f(code, code.getLoc());
    code.line("// The reset gate stands between the last gate and the state.");
    contract(2, 1, [&](const Place &place, Value q) {
      giveGate(0, f.mul(q, factor(0, place)), place);
      addTo("carried", place, f.mul(q, factor(3, place)));
    });
    contract(0, 2, carry);
  } else {
    contract(0, gateCount, carry);
  }
  code.close();
  storeStates();
  CudaLaunch launch;
  launch.threads = plan.threads();
  launch.gridX = batch.ceilDiv(plan.rows);
  return code.finish(launch);
}

FailureOr<EmittedKernel> cuda::emitRecurrenceGradient(KernelCode &code) {
  auto op = cast<nn::RecurrenceGradientOp>(nn::anchorOf(code.kernel));
  for (unsigned result = 0; result < code.kernel.getNumResults(); ++result)
    if (code.storedValue(result).getDefiningOp() != op)
      return code.kernel.emitOpError("has ops behind its gradient of a recurrence");
  std::optional<Plan> plan = planGradient(op);
  if (!plan)
    return code.kernel.emitOpError("has ") << op.hiddenSize() << " hidden units, whose gradients do not fit the shared memory of a "
                                              "block (" << kSharedBytes << " bytes)";
  return RecurrenceGradientEmitter(code, op, *plan).emit();
}
