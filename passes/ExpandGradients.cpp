// Replaces nn.gradient by the ops that compute it. Reverse mode: the ops between the values and what is differentiated are walked
// from the last to the first; each gives the gradients of its operands from those of its results (DifferentiableOpInterface), and
// a value that several ops read sums up what they give. Ops that no wanted value leads to are not visited, so frozen parameters
// cost nothing. Runs before everything else: fusion, layouts and the planner then see forward and backward as one.

#include "passes/Passes.h"
#include "ir/TensorBuilder.h"


namespace nncc::passes {
#define GEN_PASS_DEF_EXPANDGRADIENTS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

class Expansion {
public:
  explicit Expansion(nn::GradientOp gradient) : gradient(gradient), builder(gradient) {}
  LogicalResult run();

private:
  void findActive();
  LogicalResult propagate(Operation *op);
  void accumulate(Value value, Value part, Location loc);

  nn::GradientOp gradient;
  OpBuilder builder;
  DenseSet<Value> dependent;         ///< values that depend on what is differentiated by
  SmallVector<Operation *> active;   ///< ops on a way from `by` to `of`, in the order of the program
  DenseMap<Value, Value> gradients;
};

} // namespace

void Expansion::findActive() {
  for (Value by : gradient.getBy())
    dependent.insert(by);
  SmallVector<Operation *> forward;
  for (Operation &op : *gradient->getBlock()) {
    if (&op == gradient)
      break;
    bool isReached = llvm::any_of(op.getOperands(), [&](Value operand) { return dependent.contains(operand); });
    if (!isReached)
      continue;
    // What is differentiated by may itself be the result of such an op; the way ends there.
    bool continues = false;
    for (Value result : op.getResults())
      if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
        continues |= dependent.insert(result).second || llvm::is_contained(gradient.getOf(), result);
    if (continues)
      forward.push_back(&op);
  }
  DenseSet<Value> needed(gradient.getOf().begin(), gradient.getOf().end());
  for (Operation *op : llvm::reverse(forward)) {
    if (llvm::none_of(op->getResults(), [&](Value result) { return needed.contains(result); }))
      continue;
    active.push_back(op);
    for (Value operand : op->getOperands())
      if (dependent.contains(operand))
        needed.insert(operand);
  }
}

void Expansion::accumulate(Value value, Value part, Location loc) {
  Value &sum = gradients[value];
  sum = sum ? nn::AddOp::create(builder, loc, sum, part).getResult() : part;
}

LogicalResult Expansion::propagate(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGradients, [](Value value) { return static_cast<bool>(value); }))
    return success();
  auto differentiable = dyn_cast<nn::DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError("has no gradient");
  SmallVector<bool> isWanted;
  for (Value operand : op->getOperands())
    isWanted.push_back(dependent.contains(operand));
  SmallVector<Value> operandGradients(op->getNumOperands());
  if (failed(differentiable.buildGradients(builder, resultGradients, isWanted, operandGradients)))
    return failure();
  for (auto [operand, part] : llvm::zip(op->getOperands(), operandGradients))
    if (part && dependent.contains(operand))
      accumulate(operand, part, op->getLoc());
  return success();
}

LogicalResult Expansion::run() {
  findActive();
  Operation *lastForward = gradient->getPrevNode();
  TensorBuilder b(builder, gradient.getLoc());
  for (auto [index, of] : llvm::enumerate(gradient.getOf())) {
    RankedTensorType type = b.typeOf(of);
    Value seed;
    if (gradient.getSeeds().empty())
      seed = b.reshape(b.scalar(of, 1.0), type);
    else
      seed = gradient.getSeeds()[index];
    accumulate(of, seed, gradient.getLoc());
  }
  for (Operation *op : active)
    if (failed(propagate(op)))
      return failure();
  for (auto [by, result] : llvm::zip(gradient.getBy(), gradient.getGradients())) {
    Value value = gradients.lookup(by);
    result.replaceAllUsesWith(value ? value : b.zeros(b.typeOf(by)));
  }
  // Reports tell the backward pass by its locations.
  for (Operation *op = gradient->getPrevNode(); op && op != lastForward; op = op->getPrevNode())
    op->setLoc(NameLoc::get(builder.getStringAttr(kBackwardLocation), op->getLoc()));
  gradient.erase();
  return success();
}

namespace {

struct ExpandGradientsPass : passes::impl::ExpandGradientsBase<ExpandGradientsPass> {
  void runOnOperation() override {
    SmallVector<nn::GradientOp> all;
    getOperation().walk([&](nn::GradientOp gradient) { all.push_back(gradient); });
    for (nn::GradientOp gradient : all)
      if (failed(Expansion(gradient).run()))
        return signalPassFailure();
  }
};

} // namespace
