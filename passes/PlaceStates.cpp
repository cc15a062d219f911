// Lets states be updated where they lie. Takes kernels in their final order; leaves a function in which every kernel that writes the
// next value of a state may write it over the present one, which codegen/ProgramBuilder then lets it do. Runs behind PlaceConcats, which
// still changes kernels, and before PlanBuffers, which must know every reader of every buffer.

#include "passes/Passes.h"

#include "ir/Kernel.h"
#include "ir/View.h"

namespace nncc::passes {
#define GEN_PASS_DEF_PLACESTATES
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

/// `kernel` reads its operand `number` only at the index at which it writes result `result`, before it writes there.
bool readsWhereItWrites(nn::KernelOp kernel, unsigned number, unsigned result) {
  BlockArgument argument = kernel.getBlock().getArgument(number);
  Type type = kernel.getResult(result).getType();
  if (argument.getType() != type || nn::storedValue(kernel, result) != kernel.getTerminator()->getOperand(result))
    return false;
  // All results are written in the same loops.
  if (llvm::any_of(kernel.getResultTypes(), [&](Type other) { return other != type; }))
    return false;
  bool isElementwise = llvm::all_of(kernel.getBlock().without_terminator(), [](Operation &op) {
    return isa<nn::ConstantOp, nn::ElementwiseOpInterface>(op) || nn::isStridedMovement(&op);
  });
  return isElementwise && llvm::all_of(argument.getUsers(), [&](Operation *user) {
           return isa<nn::YieldOp>(user) ||
                  (isa<nn::ElementwiseOpInterface>(user) && nn::shapeOf(user->getResult(0).getType()) == nn::shapeOf(type));
         });
}

struct PlaceStatesPass : passes::impl::PlaceStatesBase<PlaceStatesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Operation *exit = function.getBody().front().getTerminator();
    // Kernels that read a state that they copy come before any copy: all of them stand at the end.
    SmallVector<OpOperand *> copied;
    for (OpOperand &operand : exit->getOpOperands()) {
      auto name = function.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), nn::NNDialect::kStateAttr);
      if (name && !mayOverwrite(operand.get(), argumentOf(function, name)))
        copied.push_back(&operand);
    }
    for (OpOperand *operand : copied)
      copyAtEnd(*operand, exit);
  }

private:
  static Value argumentOf(func::FuncOp function, StringAttr state) {
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), nn::NNDialect::kStateAttr) == state)
        return argument;
    return {};
  }

  /// A state that is written and never read has no argument, and nothing to be careful of.
  bool mayOverwrite(Value next, Value present) {
    auto result = dyn_cast<OpResult>(nn::wholeViewedValue(next));
    auto writer = result ? dyn_cast<nn::KernelOp>(result.getOwner()) : nn::KernelOp();
    if (!writer)
      return false;
    return !present || readersPermit(present, writer, result.getResultNumber());
  }

  bool readersPermit(Value value, nn::KernelOp writer, unsigned result) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (nn::isView(user))
        return readersPermit(user->getResult(0), writer, result);
      if (user == writer)
        return readsWhereItWrites(writer, use.getOperandNumber(), result);
      return user->getBlock() == writer->getBlock() && user->isBeforeInBlock(writer);
    });
  }

  void copyAtEnd(OpOperand &operand, Operation *exit) {
    OpBuilder builder(exit);
    auto kernel = nn::KernelOp::create(builder, exit->getLoc(), operand.get().getType(), builder.getStringAttr("copy"),
                                       ValueRange(operand.get()), /*in_place=*/IntegerAttr());
    Block &body = kernel.getBody().emplaceBlock();
    body.addArgument(operand.get().getType(), exit->getLoc());
    builder.setInsertionPointToStart(&body);
    nn::YieldOp::create(builder, exit->getLoc(), ValueRange(body.getArguments()));
    operand.set(kernel.getResult(0));
  }
};

} // namespace
