// Computes a value again in each kernel that reads it, where that costs less than to store it once and load it in all of them. Takes
// the kernels of @train_step, whose forward values would otherwise wait in memory for the gradients; leaves fewer of them. Runs behind
// FormKernels, which says what a kernel can hold, and behind the last CSE, which would undo it; before PlaceConcats, which fixes where
// kernels write.

#include "passes/Passes.h"
#include "passes/StepMemory.h"

#include "ir/Kernel.h"
#include "ir/View.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace nncc::passes {
#define GEN_PASS_DEF_RECOMPUTEVALUES
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// About how many vector operations an element takes.
int64_t operationsOf(Operation *op) {
  if (isa<nn::AddOp, nn::SubOp, nn::MulOp, nn::MinOp, nn::MaxOp, nn::NegOp, nn::AbsOp, nn::SquareOp, nn::ReluOp, nn::LeakyReluOp,
          nn::ClipOp, nn::WhereOp, nn::CastOp, nn::EqualOp, nn::LessOp, nn::LessEqualOp, nn::GreaterOp, nn::GreaterEqualOp,
          nn::IotaOp, nn::ConstantOp, nn::ExpandOp>(op))
    return 1;
  if (isa<nn::DivOp, nn::SqrtOp, nn::RsqrtOp, nn::ReciprocalOp>(op))
    return 8;
  // Transcendental functions, and Philox, of which one call gives a single element.
  return isa<nn::RandomUniformOp>(op) ? 100 : 30;
}

/// Bytes that move between a core and memory in the time of one vector operation per element of four bytes.
constexpr double kBytesPerOperation = 0.5;

/// Next to a tensor with a number per pixel, those with one per channel do not count.
constexpr double kMoreBytes = 1.02;

class Recomputation {
public:
  Recomputation(Block &block, const DimValues &dims) : block(block), dims(dims) {}

  /// Later kernels first: what reads them are then the kernels that they went into. Returns how many values need no buffer any more.
  unsigned run() {
    SmallVector<nn::KernelOp> kernels(block.getOps<nn::KernelOp>());
    unsigned count = 0;
    for (nn::KernelOp kernel : llvm::reverse(kernels))
      if (isOnDemand(kernel))
        count += spread(kernel) || spreadBehindCut(kernel);
    return count;
  }

private:
  /// Each element is computed by itself, from elements at its own place, or broadcast to it, or none.
  static bool isOnDemand(nn::KernelOp kernel) {
    return kernel.getNumResults() == 1 && !kernel.getInPlace() && llvm::all_of(kernel.getBlock().without_terminator(), [](Operation &op) {
             return isa<nn::ElementwiseOpInterface, nn::ConstantOp, nn::IotaOp, nn::ExpandOp>(op);
           }) && isa<nn::ElementwiseOpInterface, nn::IotaOp>(lastOf(kernel));
  }
  static Operation *lastOf(nn::KernelOp kernel) {
    Operation *last = kernel.getTerminator()->getOperand(0).getDefiningOp();
    return last ? last : kernel.getTerminator();
  }

  bool spread(nn::KernelOp kernel);
  bool spreadBehindCut(nn::KernelOp kernel);
  bool canHold(nn::KernelOp reader, unsigned number, nn::KernelOp producer);
  bool pays(nn::KernelOp kernel, ArrayRef<nn::KernelOp> readers);
  void hold(nn::KernelOp reader, nn::KernelOp producer);

  /// The last kernel that reads the memory of `value`, besides those of `without`.
  Operation *lastReader(Value value, Operation *without) {
    Operation *last = nullptr;
    SmallVector<Value> worklist = {nn::viewedValue(value)};
    while (!worklist.empty())
      for (Operation *user : worklist.pop_back_val().getUsers()) {
        if (nn::isView(user))
          worklist.push_back(user->getResult(0));
        else if (user != without && (!last || last->isBeforeInBlock(user)))
          last = user;
      }
    return last;
  }

  Block &block;
  const DimValues &dims;
};

} // namespace

/// `reader` can compute its operand `number` itself, at whatever place it reads it.
bool Recomputation::canHold(nn::KernelOp reader, unsigned number, nn::KernelOp producer) {
  BlockArgument argument = reader.getBlock().getArgument(number);
  RankedTensorType type = tensorTypeOf(argument);
  Operation *anchor = nn::anchorOf(reader);
  bool hasAnchor = anchor && nn::isAnchor(anchor);
  bool isElementwise = llvm::all_of(producer.getBlock().without_terminator(), [](Operation &op) {
    return isa<nn::ElementwiseOpInterface, nn::ConstantOp>(op);
  });
  bool hasPositions = llvm::any_of(producer.getBlock(), [](Operation &op) { return isa<nn::IotaOp>(op); });
  bool isReduction = isa_and_present<nn::ReductionOpInterface>(anchor);
  for (OpOperand &use : argument.getUses()) {
    Operation *user = use.getOwner();
    if (user == anchor && isReduction && use.getOperandNumber() == 0)
      continue;
    auto result = isa<nn::ElementwiseOpInterface>(user) ? tensorTypeOf(user->getResult(0)) : RankedTensorType();
    if (!result || nn::shapeOf(result) != nn::shapeOf(type) || nn::orderOf(result) != nn::orderOf(type))
      return false;
  }
  if (!hasAnchor)
    return true;
  if (isReduction)
    return !hasPositions;
  if (!isElementwise)
    return false;
  // The epilogue of a contraction has a tile at hand and reads what else it needs in one of the three ways of accessOf.
  if (!isa<nn::ConvOp, nn::MatmulOp>(anchor) || llvm::any_of(reader.getBlock(), [](Operation &op) {
        return isa<nn::MaxPoolOp, nn::AvgPoolOp>(op);
      }))
    return false;
  RankedTensorType tile = tensorTypeOf(anchor->getResult(0));
  if (nn::shapeOf(tile) != nn::shapeOf(type) || nn::orderOf(tile) != nn::orderOf(type))
    return false;
  for (Operation &op : producer.getBlock().without_terminator())
    if (!isa<nn::ConstantOp>(op) && nn::shapeOf(tensorTypeOf(op.getResult(0))) != nn::shapeOf(tile))
      return false;
  return llvm::all_of(producer.getInputs(), [&](Value input) {
    std::optional<nn::Access> access = nn::accessOf(tensorTypeOf(input), tile, nn::channelDimOf(anchor));
    return access && (*access != nn::Access::Full || nn::orderOf(tensorTypeOf(input)) == nn::orderOf(tile));
  });
}

/// Whether to compute the result of `kernel` in each of `readers`, all that read it, moves fewer bytes by more than the operations cost
/// that are repeated, and keeps no more bytes alive.
bool Recomputation::pays(nn::KernelOp kernel, ArrayRef<nn::KernelOp> readers) {
  Value result = kernel.getResult(0);
  int64_t operations = 0;
  for (Operation &op : kernel.getBlock().without_terminator())
    operations += operationsOf(&op);
  double resultBytes = double(dims.bytesOf(result.getType()));
  double elements = double(dims.evaluate(nn::storedElements(tensorTypeOf(result))).value_or(INT64_MAX));
  double saved = resultBytes * (1 + readers.size()), extended = 0;
  Operation *last = readers.front();
  for (nn::KernelOp reader : readers)
    if (last->isBeforeInBlock(reader))
      last = reader;
  for (Value input : kernel.getInputs()) {
    double bytes = double(dims.bytesOf(input.getType()));
    saved += bytes;
    for (nn::KernelOp reader : readers)
      if (!llvm::is_contained(reader.getInputs(), input))
        saved -= bytes;
    Operation *other = lastReader(input, kernel);
    bool isIntermediate = nn::viewedValue(input).getDefiningOp<nn::KernelOp>();
    if (isIntermediate && (!other || other->isBeforeInBlock(last)))
      extended += bytes;
  }
  double repeated = elements * operations * (readers.size() - 1);
  return saved > repeated * kBytesPerOperation && extended <= resultBytes * kMoreBytes;
}

bool Recomputation::spread(nn::KernelOp kernel) {
  Value result = kernel.getResult(0);
  llvm::SetVector<Operation *> users(result.user_begin(), result.user_end());
  SmallVector<nn::KernelOp> readers;
  for (Operation *user : users) {
    auto reader = dyn_cast<nn::KernelOp>(user);
    if (!reader)
      return false;
    for (auto [number, input] : llvm::enumerate(reader.getInputs()))
      if (input == result && !canHold(reader, number, kernel))
        return false;
    readers.push_back(reader);
  }
  if (readers.empty() || !pays(kernel, readers))
    return false;
  for (nn::KernelOp reader : readers)
    hold(reader, kernel);
  kernel.erase();
  return true;
}

/// Stores, in place of the result, a value on the way to it that takes fewer bytes: of a dropout's mask whether an element is kept,
/// which takes many operations to find out, and not the factor that follows from it.
bool Recomputation::spreadBehindCut(nn::KernelOp kernel) {
  Value result = kernel.getTerminator()->getOperand(0), cut;
  if (!llvm::hasNItemsOrMore(kernel.getResult(0).getUsers(), 2))
    return false;
  for (Operation &op : kernel.getBlock().without_terminator())
    if (!isa<nn::ConstantOp>(op) && dims.bytesOf(op.getResult(0).getType()) < dims.bytesOf(result.getType()) &&
        nn::shapeOf(op.getResult(0).getType()) == nn::shapeOf(result.getType()))
      cut = op.getResult(0);
  if (!cut)
    return false;
  OpBuilder builder(kernel);
  auto create = [&](Value yielded, Value given, Value givenOutside) {
    llvm::SetVector<Operation *> ops;
    SmallVector<Value> worklist = {yielded};
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (value != given && value.getDefiningOp() && ops.insert(value.getDefiningOp()))
        llvm::append_range(worklist, value.getDefiningOp()->getOperands());
    }
    std::string name;
    for (Operation &op : kernel.getBlock())
      if (ops.contains(&op) && !isa<nn::ConstantOp>(op))
        name += (name.empty() ? "" : "_") + op.getName().stripDialect().str();
    SmallVector<Value> inputs(kernel.getInputs());
    if (given)
      inputs.push_back(givenOutside);
    auto part = nn::KernelOp::create(builder, kernel.getLoc(), yielded.getType(), builder.getStringAttr(name), inputs, IntegerAttr());
    Block &body = part.getBody().emplaceBlock();
    IRMapping mapping;
    for (auto [number, input] : llvm::enumerate(inputs)) {
      Value argument = body.addArgument(input.getType(), input.getLoc());
      mapping.map(number < kernel.getInputs().size() ? Value(kernel.getBlock().getArgument(number)) : given, argument);
    }
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    for (Operation &op : kernel.getBlock())
      if (ops.contains(&op))
        inside.clone(op, mapping);
    nn::YieldOp::create(inside, kernel.getLoc(), mapping.lookup(yielded));
    llvm::BitVector unused(body.getNumArguments());
    for (BlockArgument argument : body.getArguments())
      if (argument.use_empty())
        unused.set(argument.getArgNumber());
    body.eraseArguments(unused);
    part->eraseOperands(unused);
    return part;
  };
  nn::KernelOp before = create(cut, Value(), Value()), behind = create(result, cut, before.getResult(0));
  kernel.getResult(0).replaceAllUsesWith(behind.getResult(0));
  if (spread(behind)) {
    kernel.erase();
    return true;
  }
  behind.getResult(0).replaceAllUsesWith(kernel.getResult(0));
  behind.erase();
  before.erase();
  return false;
}

/// Puts the body of `producer` into that of `reader`, in place of the operand.
void Recomputation::hold(nn::KernelOp reader, nn::KernelOp producer) {
  llvm::SetVector<Value> inputs;
  for (Value input : reader.getInputs())
    if (input != producer.getResult(0))
      inputs.insert(input);
  inputs.insert(producer.getInputs().begin(), producer.getInputs().end());

  OpBuilder builder(reader);
  std::string name = (producer.getKernelName() + "_" + reader.getKernelName()).str();
  auto kernel = nn::KernelOp::create(builder, reader.getLoc(), reader.getResultTypes(), builder.getStringAttr(name),
                                     inputs.getArrayRef(), IntegerAttr());
  Block &body = kernel.getBody().emplaceBlock();
  llvm::DenseMap<Value, Value> arguments;
  for (Value input : inputs)
    arguments[input] = body.addArgument(input.getType(), input.getLoc());
  builder.setInsertionPointToStart(&body);
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip(producer.getInputs(), producer.getBlock().getArguments()))
    mapping.map(argument, arguments.lookup(input));
  for (Operation &op : producer.getBlock().without_terminator())
    builder.clone(op, mapping);
  Value computed = mapping.lookup(producer.getTerminator()->getOperand(0));
  IRMapping own;
  for (auto [input, argument] : llvm::zip(reader.getInputs(), reader.getBlock().getArguments()))
    own.map(argument, input == producer.getResult(0) ? computed : arguments.lookup(input));
  for (Operation &op : reader.getBlock())
    builder.clone(op, own);
  reader->replaceAllUsesWith(kernel->getResults());
  reader.erase();
}

namespace {

struct RecomputeValuesPass : passes::impl::RecomputeValuesBase<RecomputeValuesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.getName() != kTrainStepFunction)
      return;
    DimValues dims(function);
    recomputedValues += Recomputation(function.getBody().front(), dims).run();
  }
};

} // namespace
