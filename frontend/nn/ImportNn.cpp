// The frontend's entry: parse, elaborate, and turn MLIR's diagnostics about the ops into
// diagnostics about the text.
#include "frontend/nn/ImportNn.h"

#include "frontend/nn/Elaborator.h"

#include "mlir/IR/Diagnostics.h"

#include <cctype>

namespace nncc::frontend {

namespace {

/// The range of text that a location names: the word at its line and column.
SourceRange rangeOf(mlir::Location loc, const Program &program) {
  auto place = mlir::dyn_cast<mlir::FileLineColLoc>(loc);
  if (!place)
    return {};
  const SourceFile *source = program.findSource(place.getFilename().getValue());
  if (!source)
    return {};
  std::string_view line = source->line(place.getLine());
  size_t column = std::min<size_t>(place.getColumn() - 1, line.size());
  uint32_t begin = static_cast<uint32_t>(line.data() - source->text().data() + column);
  uint32_t end = begin;
  while (end < source->text().size() &&
         (std::isalnum(static_cast<unsigned char>(source->text()[end])) ||
          source->text()[end] == '_'))
    ++end;
  return {source, begin, std::max(end, begin + 1)};
}

/// Messages without what only readers of the IR know: "'nn.conv' op " and the names of constraints.
std::string forAuthors(std::string message) {
  if (message.starts_with("'nn."))
    if (size_t op = message.find("' op "); op != std::string::npos)
      message.erase(0, op + 5);
  size_t colon = message.find(": ");
  if (colon != std::string::npos) {
    std::string_view name = std::string_view(message).substr(0, colon);
    size_t mark = name.rfind("_c");
    bool constraint = mark != std::string_view::npos && mark + 2 < name.size() &&
                      name.find(' ') == std::string_view::npos &&
                      name.find_first_not_of("0123456789", mark + 2) == std::string_view::npos;
    if (constraint)
      message.erase(0, colon + 2);
  }
  return message;
}

/// Hands what MLIR says of the ops to `diagnostics`, at the places in the program's text.
auto collectErrors(const Program &program, Diagnostics &diagnostics) {
  return [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      diagnostics.error(rangeOf(diagnostic.getLocation(), program), forAuthors(diagnostic.str()));
    return mlir::success();
  };
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> importNn(mlir::MLIRContext &context, const SourceFile &source,
                                           SourceManager &sources, Diagnostics &diagnostics,
                                           const ImportOptions &options) {
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  Program program;
  if (!program.load(source, sources, diagnostics) ||
      (options.trainStatements && !program.addTraining(*options.trainStatements, diagnostics)))
    return {};
  mlir::ScopedDiagnosticHandler handler(&context, collectErrors(program, diagnostics));
  mlir::OwningOpRef<mlir::ModuleOp> module =
      Elaborator(context, program, diagnostics, options).run();
  return diagnostics.hasErrors() ? mlir::OwningOpRef<mlir::ModuleOp>() : std::move(module);
}

mlir::OwningOpRef<mlir::ModuleOp> importNn(mlir::MLIRContext &context, const std::string &path,
                                           SourceManager &sources, Diagnostics &diagnostics,
                                           const ImportOptions &options) {
  const SourceFile *source = sources.load(path, diagnostics);
  return source ? importNn(context, *source, sources, diagnostics, options)
                : mlir::OwningOpRef<mlir::ModuleOp>();
}

bool addTraining(mlir::ModuleOp module, const SourceFile &statements, Diagnostics &diagnostics) {
  Program program;
  if (!program.addTraining(statements, diagnostics))
    return false;
  mlir::MLIRContext &context = *module.getContext();
  mlir::ScopedDiagnosticHandler handler(&context, collectErrors(program, diagnostics));
  return Elaborator(context, program, diagnostics, {}).addTraining(module) &&
         !diagnostics.hasErrors();
}

} // namespace nncc::frontend
