// What tests look at in an imported module.
#include "ImportText.h"

#include "ir/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <fmt/format.h>

namespace nncc::frontend {

std::unique_ptr<Imported> importText(const std::string &text, const ImportOptions &options,
                                     const std::string &path) {
  auto imported = std::make_unique<Imported>();
  imported->context.disableMultithreading();
  const SourceFile *source = imported->sources.add(path, text, imported->diagnostics);
  if (source)
    imported->module =
        importNn(imported->context, *source, imported->sources, imported->diagnostics, options);
  return imported;
}

std::string parametersOf(mlir::ModuleOp module) {
  std::string out;
  for (auto parameter : module.getOps<nn::ParameterOp>())
    out +=
        fmt::format("{} {} {}\n", parameter.getSymName().str(), nn::describe(parameter.getType()),
                    parameter.getInit() ? parameter.getInit()->getKind().str() : "none");
  return out;
}

std::string signatureOf(mlir::ModuleOp module) {
  auto function = *module.getOps<mlir::func::FuncOp>().begin();
  std::string out;
  auto add = [&](mlir::Attribute name, mlir::Type type) {
    out += fmt::format("{}{} {}", out.empty() || out.ends_with("-> ") ? "" : ", ",
                       mlir::cast<mlir::StringAttr>(name).str(), nn::describe(type));
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    add(function.getArgAttr(i, nn::NNDialect::kNameAttr), function.getArgument(i).getType());
  out += " -> ";
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    add(function.getResultAttr(i, nn::NNDialect::kNameAttr), function.getResultTypes()[i]);
  return out;
}

std::string opsOf(mlir::ModuleOp module) {
  auto function = *module.getOps<mlir::func::FuncOp>().begin();
  std::string out;
  for (mlir::Operation &op : function.getBody().front()) {
    llvm::StringRef name = op.getName().getStringRef();
    if (!name.consume_front("nn.") || name == "get_parameter")
      continue;
    out += (out.empty() ? "" : " ") + name.str();
  }
  return out;
}

std::string importError(const std::string &text, const ImportOptions &options) {
  auto imported = importText(text, options);
  if (imported->module)
    return "no error";
  if (imported->diagnostics.all().empty())
    return "failed without an error";
  const Diagnostic &diagnostic = imported->diagnostics.all().front();
  if (!diagnostic.range.valid())
    return "without a place: " + diagnostic.message;
  LineColumn at = diagnostic.range.start();
  return fmt::format("{}:{}: {}", at.line, at.column, diagnostic.message);
}

std::string modelAround(const std::string &statements) {
  return "nn 1\nmodel M(x: f32[N, 8], img: f32[N, 3, 16, 16], ids: i64[N, T]) {\n" + statements +
         "\nreturn x\n}\n";
}

std::string bodyError(const std::string &statements) {
  return importError(modelAround(statements));
}

} // namespace nncc::frontend
