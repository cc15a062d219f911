// See ParameterValues.h.

#include "passes/ParameterValues.h"

#include "ir/Kernel.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

bool passes::isHeldInCode(nn::ConstantOp constant) {
  return nn::splatConstant(constant) && llvm::all_of(constant->getUsers(), [](Operation *user) {
           return isa<nn::ElementwiseOpInterface>(user);
         });
}

bool ParameterValues::contains(Value value) {
  // Depth first with an explicit stack: a model may be thousands of ops deep.
  SmallVector<Operation *> stack;
  auto isKnown = [&](Value operand) -> std::optional<bool> {
    Operation *op = operand.getDefiningOp();
    if (!op || !isPure(op))
      return false;
    if (isa<nn::GetParameterOp, nn::ConstantOp>(op))
      return true;
    auto it = known.find(op);
    return it == known.end() ? std::nullopt : std::optional(it->second);
  };
  if (std::optional<bool> answer = isKnown(value))
    return *answer;
  stack.push_back(value.getDefiningOp());
  while (!stack.empty()) {
    Operation *op = stack.back();
    // What has a named dim in its shape is known at a run only, even if all its elements are constants.
    bool all = op->getNumOperands() > 0 && op->getNumRegions() == 0 &&
               llvm::all_of(op->getResultTypes(), [](Type type) { return cast<ShapedType>(type).hasStaticShape(); });
    Operation *open = nullptr;
    for (Value operand : op->getOperands()) {
      std::optional<bool> answer = isKnown(operand);
      if (!answer)
        open = operand.getDefiningOp();
      else
        all &= *answer;
      if (open || !all)
        break;
    }
    if (open) {
      stack.push_back(open);
      continue;
    }
    known[op] = all;
    stack.pop_back();
  }
  return known.lookup(value.getDefiningOp());
}
