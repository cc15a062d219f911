// Writes docs/gradients.md of the build tree: which ops of the dialect have a gradient, asked of the rules themselves.

#include "passes/gradients/Gradients.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nncc;

/// Why an op needs no gradient: its results are no floating-point numbers, or it belongs to a later stage than differentiation.
static StringRef reasonWithout(StringRef op) {
  static constexpr StringRef kNoNumbers[] = {"and", "argmax", "argmin", "equal", "greater", "greater_equal", "less",
                                             "less_equal", "not", "not_equal", "or", "xor"};
  static constexpr StringRef kStructure[] = {"constant", "get_parameter", "gradient", "insert",  "kernel",
                                             "parameter", "recurrence",   "reorder",  "state", "yield"};
  static constexpr StringRef kOfWholeNumbers[] = {"iota", "random_uniform"};
  static constexpr StringRef kOfGradients[] = {"derivative", "linear_scan", "shift"};
  if (llvm::is_contained(kNoNumbers, op))
    return "its result is no number that varies smoothly";
  if (llvm::is_contained(kOfWholeNumbers, op))
    return "its result depends on whole numbers alone";
  if (llvm::is_contained(kOfGradients, op) || op.ends_with("_gradient"))
    return "gradients are made of it";
  if (llvm::is_contained(kStructure, op))
    return "differentiation does not meet it";
  return "no";
}

int main() {
  DialectRegistry registry;
  passes::registerGradients(registry);
  MLIRContext context(registry);
  context.loadDialect<nn::NNDialect>();
  std::vector<std::pair<std::string, bool>> ops;
  // MLIR 22's search by dialect comes back empty here.
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.getDialectNamespace() == nn::NNDialect::getDialectNamespace())
      ops.emplace_back(op.stripDialect().str(), op.hasInterface<nn::DifferentiableOpInterface>());
  if (ops.empty()) {
    llvm::errs() << "gradient-table: the nn dialect has no ops\n";
    return 1;
  }
  llvm::sort(ops);
  llvm::outs() << "# Gradients\n\nThe ops of the nn dialect and whether expand-gradients can differentiate them. Every rule is checked "
                  "against central differences in test/unit/driver/GradientTest.cpp.\n\n| op | gradient |\n|---|---|\n";
  for (auto &[name, hasGradient] : ops)
    llvm::outs() << "| nn." << name << " | " << (hasGradient ? "yes" : reasonWithout(name)) << " |\n";
  return 0;
}
