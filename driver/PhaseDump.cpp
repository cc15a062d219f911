// Numbered files of IR; see PhaseDump.h.

#include "driver/PhaseDump.h"
#include "runtime/File.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"

#include <fmt/format.h>

using namespace nncc;

namespace {

class PhaseDump : public mlir::PassInstrumentation {
public:
  explicit PhaseDump(std::string folder) : folder(std::move(folder)) {}

  void runBeforePass(mlir::Pass *, mlir::Operation *op) override {
    if (number == 0)
      write("input", op);
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    // The adaptor that runs passes on functions is not a step of the recipe.
    if (!pass->getArgument().empty())
      write(pass->getArgument(), op);
  }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override {
    write((pass->getArgument() + "-failed").str(), op);
  }

private:
  void write(llvm::StringRef phase, mlir::Operation *op) {
    while (op->getParentOp())
      op = op->getParentOp();
    std::string text;
    llvm::raw_string_ostream os(text);
    // Weights of more than a few elements would drown the ops.
    constexpr int64_t kShownElements = 16;
    op->print(os, mlir::OpPrintingFlags().elideLargeElementsAttrs(kShownElements).useLocalScope());
    if (text == last)
      return;
    std::string path = fmt::format("{}/{:02}-{}.mlir", folder, number++, phase.str());
    // A dump that cannot be written is no reason to fail a compilation.
    (void)bool(rt::writeFileAtomically(path, text + "\n"));
    last = std::move(text);
  }

  std::string folder;
  std::string last;
  int number = 0;
};

} // namespace

Result<std::unique_ptr<mlir::PassInstrumentation>> driver::createPhaseDump(std::string folder) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return userError("cannot create the folder " + folder + ": " + code.message());
  return std::unique_ptr<mlir::PassInstrumentation>(new PhaseDump(std::move(folder)));
}
