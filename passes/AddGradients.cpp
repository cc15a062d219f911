// Turns a model into its vector-Jacobian product: @infer takes, behind its inputs, a gradient for each output, and gives, behind
// its outputs, the gradients of its floating-point inputs and parameters. With it any model's gradients can be computed and
// checked by the programs that run models. Runs first; ExpandGradients behind it.

#include "passes/ParameterReads.h"
#include "passes/Passes.h"

namespace nncc::passes {
#define GEN_PASS_DEF_ADDGRADIENTS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

struct AddGradientsPass : passes::impl::AddGradientsBase<AddGradientsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.getName() != passes::kInferFunction)
      return;
    Block &body = function.getBody().front();
    auto exit = cast<func::ReturnOp>(body.getTerminator());
    StringRef nameAttr = nn::NNDialect::kNameAttr;
    auto named = [&](Twine name) {
      NamedAttribute attribute(nameAttr, StringAttr::get(&getContext(), "grad." + name));
      return DictionaryAttr::get(&getContext(), attribute);
    };

    SmallVector<Value> by;
    SmallVector<std::string> names;
    for (BlockArgument argument : body.getArguments()) {
      if (!isFloat(argument))
        continue;
      by.push_back(argument);
      names.push_back(function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nameAttr).str());
    }
    for (auto &[name, get] : mergeParameterReads(body))
      if (isFloat(get.getResult())) {
        by.push_back(get.getResult());
        names.push_back(name.str());
      }

    SmallVector<Value> of, seeds, results(exit.getOperands());
    SmallVector<Type> argumentTypes(function.getArgumentTypes());
    for (auto [index, output] : llvm::enumerate(exit.getOperands())) {
      if (!isFloat(output))
        continue;
      of.push_back(output);
      StringRef name = function.getResultAttrOfType<StringAttr>(index, nameAttr).getValue();
      if (failed(function.insertArgument(function.getNumArguments(), output.getType(), named(name), exit.getLoc())))
        return signalPassFailure();
      seeds.push_back(body.getArguments().back());
    }
    if (of.empty() || by.empty())
      return;
    OpBuilder builder(exit);
    SmallVector<Type> types;
    for (Value value : by)
      types.push_back(value.getType());
    auto gradient = nn::GradientOp::create(builder, exit.getLoc(), types, of, seeds, by);
    for (auto [result, name] : llvm::zip(gradient.getGradients(), names)) {
      if (failed(function.insertResult(function.getNumResults(), result.getType(), named(name))))
        return signalPassFailure();
      results.push_back(result);
    }
    exit.getOperandsMutable().assign(results);
  }
};

} // namespace
