// Splits @infer at the border between what is known before a run and what is not: ops over parameters and constants alone move
// to @prepare. Runs after every pass that computes with weights (folding, packing) and before FormKernels, which then forms the
// kernels of both functions.

#include "passes/ParameterValues.h"
#include "passes/Passes.h"

#include "ir/Kernel.h"
#include "ir/View.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace nncc::passes {
#define GEN_PASS_DEF_OUTLINEPREPARE
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

struct OutlinePreparePass : passes::impl::OutlinePrepareBase<OutlinePreparePass> {
  void runOnOperation() override {
    auto infer = getOperation().lookupSymbol<func::FuncOp>(kInferFunction);
    if (!infer || infer.isExternal())
      return;
    SmallVector<Value> prepared = preparedValues(infer);
    if (prepared.empty())
      return;
    if (getOperation().lookupSymbol(kPrepareFunction)) {
      infer.emitError("outline-prepare: the module already has @") << kPrepareFunction;
      return signalPassFailure();
    }
    SmallVector<StringAttr> names = nameValues(prepared);
    createPrepare(infer, prepared, names);
    for (auto [value, name] : llvm::zip(prepared, names)) {
      unsigned index = infer.getNumArguments();
      auto attributes = DictionaryAttr::get(&getContext(), {NamedAttribute(kConstantAttr, name)});
      if (failed(infer.insertArgument(index, value.getType(), attributes, value.getLoc())))
        return signalPassFailure();
      value.replaceAllUsesWith(infer.getArgument(index));
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(infer.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// A parameter, or a view of one, and a number in the code of its readers.
  static bool isReadInPlace(Value value) {
    auto constant = value.getDefiningOp<nn::ConstantOp>();
    return nn::viewedValue(value).getDefiningOp<nn::GetParameterOp>() || (constant && isHeldInCode(constant));
  }

  /// What @infer reads of the values known beforehand, in program order: computed ones, not parameters as they are.
  SmallVector<Value> preparedValues(func::FuncOp infer) {
    ParameterValues parameterValues;
    SmallVector<Value> prepared;
    for (Operation &op : infer.getBody().front()) {
      for (Value result : op.getResults()) {
        if (!parameterValues.contains(result) || isReadInPlace(result))
          continue;
        bool isReadByRun = llvm::any_of(result.getUsers(), [&](Operation *user) {
          return user->getNumResults() == 0 || !parameterValues.contains(user->getResult(0));
        });
        if (isReadByRun)
          prepared.push_back(result);
      }
    }
    return prepared;
  }

  /// "fc1.weight.packed": the first parameter that a value is computed from, and what was done to it.
  SmallVector<StringAttr> nameValues(ArrayRef<Value> values) {
    llvm::StringSet<> taken;
    for (auto parameter : getOperation().getOps<nn::ParameterOp>())
      taken.insert(parameter.getSymName());
    SmallVector<StringAttr> names;
    for (Value value : values) {
      bool packed = nn::isPacked(cast<RankedTensorType>(value.getType()));
      std::string base = (Twine(sourceName(value)) + (packed ? ".packed" : ".prepared")).str();
      std::string name = base;
      for (unsigned number = 2; !taken.insert(name).second; ++number)
        name = base + "." + std::to_string(number);
      names.push_back(StringAttr::get(&getContext(), name));
    }
    return names;
  }

  StringRef sourceName(Value value) {
    llvm::SmallPtrSet<Operation *, 16> seen;
    SmallVector<Operation *> stack = {value.getDefiningOp()};
    while (!stack.empty()) {
      Operation *op = stack.pop_back_val();
      if (auto parameter = dyn_cast<nn::GetParameterOp>(op))
        return parameter.getName();
      for (Value operand : llvm::reverse(op->getOperands()))
        if (seen.insert(operand.getDefiningOp()).second)
          stack.push_back(operand.getDefiningOp());
    }
    return "constant";
  }

  void createPrepare(func::FuncOp infer, ArrayRef<Value> values, ArrayRef<StringAttr> names) {
    OpBuilder builder(infer);
    SmallVector<Type> types = llvm::map_to_vector(values, [](Value value) { return value.getType(); });
    auto prepare = func::FuncOp::create(builder, infer.getLoc(), kPrepareFunction,
                                        builder.getFunctionType({}, types));
    for (auto [index, name] : llvm::enumerate(names))
      prepare.setResultAttr(index, kConstantAttr, name);
    llvm::DenseSet<Operation *> needed;
    SmallVector<Value> worklist(values);
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val().getDefiningOp();
      if (needed.insert(op).second)
        worklist.append(op->operand_begin(), op->operand_end());
    }
    builder.setInsertionPointToStart(prepare.addEntryBlock());
    IRMapping mapping;
    for (Operation &op : infer.getBody().front())
      if (needed.contains(&op))
        builder.clone(op, mapping);
    SmallVector<Value> results =
        llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
    func::ReturnOp::create(builder, infer.getLoc(), results);
  }
};

} // namespace
