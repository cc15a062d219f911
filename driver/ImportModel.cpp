// Importing models; see ImportModel.h.

#include "driver/ImportModel.h"
#include "driver/Diagnose.h"
#include "frontend/nn/ImportNn.h"
#include "frontend/nn/Parser.h"
#include "frontend/nn/Printer.h"
#include "ir/NN.h"
#include "passes/gradients/Gradients.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

using namespace nncc;

std::unique_ptr<mlir::MLIRContext> driver::createContext() {
  // Two functions of at most some thousand ops: threads would cost more than they bring, and
  // diagnostics keep their order.
  mlir::DialectRegistry registry;
  passes::registerGradients(registry);
  auto context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  // Messages are for people who wrote the model: its text is shown, not the op.
  context->printOpOnDiagnostic(false);
  context->loadDialect<nn::NNDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                       mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::cf::ControlFlowDialect,
                       mlir::vector::VectorDialect, mlir::LLVM::LLVMDialect>();
  return context;
}

static const frontend::SourceFile *loadSource(const driver::ModelSource &source,
                                              frontend::SourceManager &sources,
                                              frontend::Diagnostics &diagnostics) {
  return source.text ? sources.add(source.path, *source.text, diagnostics)
                     : sources.load(source.path, diagnostics);
}

/// The file that `@FILE` names, or the text itself; null after an error.
static const frontend::SourceFile *loadTrainStatements(const std::string &statements,
                                                       frontend::SourceManager &sources,
                                                       frontend::Diagnostics &diagnostics) {
  return statements.starts_with('@') ? sources.load(statements.substr(1), diagnostics)
                                     : sources.add(driver::kTrainOption, statements, diagnostics);
}

/// Adds what the caller says of training to a module that was not made from .nn text.
static Result<void> addTraining(mlir::ModuleOp module, const driver::ModelSource &source) {
  if (!module.lookupSymbol<mlir::func::FuncOp>("infer"))
    return userError(source.path + " cannot be trained: it has no function @infer");
  if (module->hasAttr(nn::NNDialect::kTrainAttr))
    return userError(source.path + " says how it is trained already, as IR, which --train=... cannot change; "
                                   "give it to the model's text");
  frontend::SourceManager sources;
  frontend::Diagnostics diagnostics;
  const frontend::SourceFile *statements = loadTrainStatements(source.trainStatements, sources, diagnostics);
  if (!statements || !frontend::addTraining(module, *statements, diagnostics))
    return userError(diagnostics.render(source.color));
  return {};
}

static Result<driver::ImportedModel> importIr(mlir::MLIRContext &context,
                                              const driver::ModelSource &source) {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    driver::DiagnosticText diagnostics(context);
    mlir::ParserConfig config(&context);
    module = source.text
                 ? mlir::parseSourceString<mlir::ModuleOp>(*source.text, config, source.path)
                 : mlir::parseSourceFile<mlir::ModuleOp>(source.path, diagnostics.sourceManager(),
                                                         config);
    if (!module)
      return diagnostics.take(ErrorKind::User, source.path + " cannot be read");
  }
  if (!source.trainStatements.empty())
    if (auto added = addTraining(*module, source); !added)
      return added.error();
  return driver::ImportedModel{std::move(module), {}};
}

Result<driver::ImportedModel> driver::importModel(mlir::MLIRContext &context,
                                                  const ModelSource &source) {
  if (llvm::StringRef(source.path).ends_with(".mlir"))
    return importIr(context, source);
  frontend::SourceManager sources;
  frontend::Diagnostics diagnostics;
  frontend::ImportOptions options;
  options.fixedDims = source.fixedDims;
  options.training = source.training || !source.trainStatements.empty();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    // What the verifier finds behind the frontend's back is said at the same places.
    DiagnosticText verifier(context);
    const frontend::SourceFile *file = loadSource(source, sources, diagnostics);
    if (file && !source.trainStatements.empty())
      options.trainStatements = loadTrainStatements(source.trainStatements, sources, diagnostics);
    if (file && !diagnostics.hasErrors())
      module = frontend::importNn(context, *file, sources, diagnostics, options);
    if (!module && !diagnostics.hasErrors())
      return verifier.take(ErrorKind::User, source.path + " cannot be imported");
  }
  if (!module || diagnostics.hasErrors())
    return userError(diagnostics.render(source.color));
  if (auto settings = (*module)->getAttrOfType<mlir::DictionaryAttr>(nn::NNDialect::kTrainAttr); settings && source.batch > 0) {
    mlir::NamedAttrList changed(settings);
    changed.set("batch", mlir::IntegerAttr::get(mlir::IntegerType::get(&context, 64), source.batch));
    (*module)->setAttr(nn::NNDialect::kTrainAttr, changed.getDictionary(&context));
  }
  return ImportedModel{std::move(module), diagnostics.render(source.color)};
}

Result<std::string> driver::formatModel(const ModelSource &source) {
  frontend::SourceManager sources;
  frontend::Diagnostics diagnostics;
  if (const frontend::SourceFile *file = loadSource(source, sources, diagnostics))
    if (std::optional<frontend::File> tree = frontend::parse(*file, diagnostics))
      return frontend::print(*tree);
  return userError(diagnostics.render(source.color));
}
