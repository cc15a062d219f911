// The model: constants, inputs with their named dims, the body, outputs.
#include "frontend/nn/Elaborator.h"

#include "frontend/nn/Printer.h"
#include "frontend/nn/Spelling.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <algorithm>

namespace nncc::frontend {

/// Statements, calls and iterations that one model may take: far above the largest networks, and
/// reached in a few seconds by a text that would never end.
static constexpr size_t maxSteps = 1000000;

/// Expressions and bodies within each other, counted through block calls. The parser bounds one
/// expression and one block; blocks that call each other from deep inside multiply these bounds,
/// and the stack must hold all of it.
static constexpr size_t maxEvalDepth = 1024;

/// Named dims of one model; each is a number that every run checks and every kernel may take.
static constexpr size_t maxNamedDims = 1024;

/// Calls that an error inside blocks lists: the innermost ones and, of a longer chain, the
/// outermost one.
static constexpr size_t maxCallNotes = 6;

Elaborator::Elaborator(mlir::MLIRContext &context, const Program &program, Diagnostics &diagnostics,
                       const ImportOptions &options)
    : context(context), program(program), diagnostics(diagnostics), options(options),
      builder(&context) {}

std::nullopt_t Elaborator::fail(SourceRange at, std::string message) {
  Diagnostic &error = diagnostics.error(at, std::move(message));
  std::vector<const Frame *> calls;
  for (const Frame *inner = frame; inner && inner->call; inner = inner->caller)
    calls.push_back(inner);
  size_t left = calls.size() > maxCallNotes ? calls.size() - maxCallNotes : 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (left > 0 && i == maxCallNotes - 1)
      i += left; // on to the outermost one
    std::string between = left > 0 && i + 1 == calls.size()
                              ? fmt::format(", {} calls further out", left)
                              : std::string();
    error.note(calls[i]->callRange,
               fmt::format("in block '{}', called here{}", calls[i]->call->callee.name, between));
  }
  return std::nullopt;
}

mlir::Location Elaborator::locationOf(SourceRange range) {
  LineColumn start = range.start();
  return mlir::FileLineColLoc::get(&context, range.file->path(), start.line, start.column);
}

bool Elaborator::countStep(SourceRange at) {
  if (++steps <= maxSteps)
    return true;
  fail(at,
       fmt::format("the model takes more than {} steps to build; is a repeat too long?", maxSteps));
  return false;
}

bool Elaborator::tooDeep(SourceRange at) {
  if (evalDepth <= maxEvalDepth)
    return false;
  fail(at, fmt::format("blocks and expressions nest more than {} deep here; does a block call "
                       "itself? If not, split it over several statements",
                       maxEvalDepth));
  return true;
}

mlir::OwningOpRef<mlir::ModuleOp> Elaborator::run() {
  for (const auto &scope : program.allScopes())
    if (!evaluateConsts(*scope))
      return {};
  const ModelDecl *model = chooseModel();
  if (!model)
    return {};

  mlir::Location loc = locationOf(model->name.range);
  mlir::OwningOpRef<mlir::ModuleOp> owned = mlir::ModuleOp::create(loc, model->name.name);
  module = *owned;
  builder.setInsertionPointToEnd(module.getBody());
  function = mlir::func::FuncOp::create(builder, loc, "infer", builder.getFunctionType({}, {}));
  function.addEntryBlock();
  builder.setInsertionPointToStart(&function.getBody().front());

  Frame modelFrame;
  modelFrame.scope = &program.mainScope();
  modelFrame.callCounts = &modelFrame.ownCounts;
  frame = &modelFrame;
  if (!declareInputs(*model) || !body(model->body) ||
      !returnOutputs(std::get<Return>(model->body.statements.back().node)) || !checkDimsBound())
    return {};
  for (const auto &[name, value] : options.fixedDims)
    if (std::none_of(usedDims.begin(), usedDims.end(),
                     [&](const UsedDim &dim) { return dim.name == name; })) {
      std::vector<std::string> known;
      for (const UsedDim &dim : usedDims)
        known.push_back(dim.name);
      fail(model->name.range, fmt::format("model '{}' has no named dim '{}'{}", model->name.name,
                                          name, suggestion(name, known)));
      return {};
    }
  if ((program.mainScope().train || program.addedTraining()) && !elaborateTrain())
    return {};
  if (options.training && !evaluate) {
    fail(model->name.range, fmt::format("model '{}' cannot be trained: this file has no train "
                                        "section; write 'train {{ ... }}' behind the model, or "
                                        "what stands between its braces as --train='...'",
                                        model->name.name));
    return {};
  }
  if (!options.training && evaluate) {
    evaluate.erase();
    module->removeAttr(nn::NNDialect::kTrainAttr);
  }
  setDims();
  if (mlir::failed(mlir::verify(module)))
    return {};
  return owned;
}

void Elaborator::setDims() {
  llvm::SmallVector<mlir::Attribute> dims;
  for (const UsedDim &dim : usedDims) {
    bool fixed = std::any_of(options.fixedDims.begin(), options.fixedDims.end(),
                             [&](const auto &entry) { return entry.first == dim.name; });
    if (!fixed)
      dims.push_back(nn::DimAttr::get(&context, builder.getStringAttr(dim.name), dim.min, dim.max));
  }
  module->setAttr(nn::NNDialect::kDimsAttr, builder.getArrayAttr(dims));
}

const ModelDecl *Elaborator::chooseModel() {
  const FileScope &scope = program.mainScope();
  SourceRange fileRange{scope.file.source, 0, 0};
  std::vector<std::string> names;
  for (const ModelDecl *model : scope.models) {
    if (model->name.name == options.model)
      return model;
    names.push_back(model->name.name);
  }
  if (!options.model.empty()) {
    fail(fileRange, fmt::format("no model '{}' in this file{}", options.model,
                                suggestion(options.model, names)));
    return nullptr;
  }
  if (scope.models.empty()) {
    fail(fileRange, "this file has no model; write 'model Name(inputs) { ... }'");
    return nullptr;
  }
  if (scope.models.size() > 1) {
    fail(scope.models[1]->name.range,
         fmt::format("this file has several models ({}); choose one with --model",
                     fmt::join(names, ", ")));
    return nullptr;
  }
  return scope.models.front();
}

bool Elaborator::evaluateConsts(const FileScope &scope) {
  Frame constFrame;
  constFrame.scope = &scope;
  constFrame.callCounts = &constFrame.ownCounts;
  frame = &constFrame;
  auto &known = constants[&scope];
  for (const auto &[name, constant] : scope.consts)
    if (constant.scope != &scope)
      known[name] = constants[constant.scope][name];
  for (const Declaration &declaration : scope.file.declarations) {
    auto *constant = std::get_if<ConstDecl>(&declaration.node);
    if (!constant)
      continue;
    Result value = eval(*constant->value);
    if (!value)
      return false;
    known[constant->name.name] = *value;
  }
  frame = nullptr;
  return true;
}

std::optional<nn::Dim> Elaborator::namedDim(const NameRef &name, SourceRange at) {
  auto used = std::find_if(usedDims.begin(), usedDims.end(),
                           [&](const UsedDim &dim) { return dim.name == name.name; });
  auto fixed = std::find_if(options.fixedDims.begin(), options.fixedDims.end(),
                            [&](const auto &entry) { return entry.first == name.name; });
  if (used == usedDims.end()) {
    UsedDim dim;
    dim.name = name.name;
    dim.firstUse = at;
    dim.max = INT64_MAX;
    auto declared = frame->scope->dims.find(name.name);
    if (declared != frame->scope->dims.end()) {
      const DimDecl &node = *declared->second.node;
      std::optional<int64_t> first = evalInteger(*node.first, "the least value of a dim");
      if (!first)
        return std::nullopt;
      dim.min = *first;
      if (node.last) {
        std::optional<int64_t> last = evalInteger(*node.last, "the greatest value of a dim");
        if (!last)
          return std::nullopt;
        dim.max = *last;
      }
      if (dim.min < 1 || dim.max < dim.min)
        return fail(node.first->range,
                    fmt::format("the range of dim '{}' must begin at 1 or more and not be "
                                "empty",
                                name.name));
    } else if (!llvm::isUpper(name.name.front())) {
      std::vector<std::string> known;
      for (const auto &[constant, value] : constants[frame->scope])
        known.push_back(constant);
      for (const auto &[dimName, node] : frame->scope->dims)
        known.push_back(dimName);
      return fail(at,
                  fmt::format("'{}' is neither a constant nor a declared dim{} (a dim that is not "
                              "declared begins with a capital letter)",
                              name.name, suggestion(name.name, known)));
    }
    if (fixed != options.fixedDims.end() && (fixed->second < dim.min || fixed->second > dim.max))
      return fail(at, fmt::format("dim '{}' cannot be {}: its range is {}..{}", name.name,
                                  fixed->second, dim.min,
                                  dim.max == INT64_MAX ? "" : fmt::to_string(dim.max)));
    if (usedDims.size() == maxNamedDims)
      return fail(at, fmt::format("a model has at most {} named dims", maxNamedDims));
    usedDims.push_back(dim);
  }
  return fixed == options.fixedDims.end() ? nn::namedDim(&context, name.name)
                                          : nn::constantDim(&context, fixed->second);
}

/// A dimension in an input's type: constants, named dims and arithmetic on them.
std::optional<nn::Dim> Elaborator::inputDim(const Expr &expr) {
  if (auto *name = std::get_if<NameRef>(&expr.node)) {
    auto &known = constants[frame->scope];
    if (!known.contains(name->name)) {
      std::optional<nn::Dim> dim = namedDim(*name, expr.range);
      if (!dim)
        return std::nullopt;
      for (UsedDim &used : usedDims)
        used.standsAlone |= used.name == name->name;
      return dim;
    }
  }
  // Names of dims within the expression become variables while it is evaluated.
  struct DimNames {
    std::vector<std::pair<const NameRef *, SourceRange>> found;
    void visit(const Expr &expr) {
      if (auto *name = std::get_if<NameRef>(&expr.node))
        found.emplace_back(name, expr.range);
      else if (auto *binary = std::get_if<Binary>(&expr.node))
        visit(*binary->lhs), visit(*binary->rhs);
      else if (auto *unary = std::get_if<Unary>(&expr.node))
        visit(*unary->operand);
    }
  } names;
  names.visit(expr);
  std::vector<std::pair<std::string, Result>> before; // what the names mean outside
  for (const auto &[name, range] : names.found) {
    if (constants[frame->scope].contains(name->name))
      continue;
    std::optional<nn::Dim> dim = namedDim(*name, range);
    if (!dim)
      return std::nullopt;
    auto [variable, isNew] = frame->variables.try_emplace(name->name);
    before.emplace_back(name->name, isNew ? Result() : Result(variable->second));
    variable->second = NnValue::ofDim(*dim);
  }
  Result value = eval(expr);
  for (auto &[name, outer] : llvm::reverse(before))
    if (outer)
      frame->variables[name] = *outer;
    else
      frame->variables.erase(name);
  if (!value)
    return std::nullopt;
  nn::Dim dim = value->dim(&context);
  if (!dim)
    return fail(expr.range, fmt::format("a dimension must be an integer or a named dim, found {}",
                                        describe(*value)));
  if (std::optional<int64_t> constant = nn::constantOf(dim); constant && *constant < 0)
    return fail(expr.range, fmt::format("a dimension cannot be negative, found {}", *constant));
  return dim;
}

/// The attributes of an input or output with this name.
mlir::DictionaryAttr Elaborator::nameAttribute(llvm::StringRef name) {
  return builder.getDictionaryAttr(
      builder.getNamedAttr(nn::NNDialect::kNameAttr, builder.getStringAttr(name)));
}

bool Elaborator::declareInputs(const ModelDecl &model) {
  // All at once: adding arguments to a function one by one takes quadratic time.
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  for (const auto &entry : model.inputs.entries) {
    const ModelInput &input = entry.value;
    if (frame->variables.contains(input.name.name)) {
      fail(input.name.range,
           fmt::format("model '{}' has two inputs named '{}'", model.name.name, input.name.name));
      return false;
    }
    nn::Shape shape;
    for (const ExprPtr &expr : input.type.dims) {
      std::optional<nn::Dim> dim = inputDim(*expr);
      if (!dim)
        return false;
      shape.push_back(*dim);
    }
    mlir::Type element = nn::elementType(&context, input.type.dtype);
    mlir::FailureOr<mlir::RankedTensorType> type =
        nn::tensorType(locationOf(input.type.range), shape, element);
    if (mlir::failed(type))
      return false;
    types.push_back(*type);
    attributes.push_back(nameAttribute(input.name.name));
    frame->variables[input.name.name] =
        mlir::Value(function.getBody().addArgument(*type, locationOf(input.name.range)));
  }
  function.setType(builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attributes);
  return true;
}

bool Elaborator::checkDimsBound() {
  for (const UsedDim &dim : usedDims)
    if (!dim.standsAlone) {
      fail(dim.firstUse,
           fmt::format("dim '{}' stands only inside expressions, so its value cannot be told "
                       "from the inputs; give it a dimension of its own",
                       dim.name));
      return false;
    }
  return true;
}

bool Elaborator::returnOutputs(const Return &result) {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  std::set<std::string> names;
  for (const ReturnItem &item : result.items) {
    Result value = eval(*item.value);
    if (!value)
      return false;
    if (!value->tensor()) {
      fail(item.value->range, fmt::format("a model returns tensors, found {}", describe(*value)));
      return false;
    }
    std::string name;
    if (item.name)
      name = item.name->name;
    else if (auto *variable = std::get_if<NameRef>(&item.value->node))
      name = variable->name;
    else
      name = result.items.size() == 1 ? "output" : fmt::format("output{}", values.size());
    if (!names.insert(name).second) {
      fail(item.value->range,
           fmt::format("two outputs are named '{}'; write 'return a = ..., b = ...'", name));
      return false;
    }
    frame->variables[name] = *value;
    attributes.push_back(nameAttribute(name));
    values.push_back(value->tensor());
    types.push_back(value->tensor().getType());
  }
  SourceRange at = result.items.front().value->range;
  mlir::func::ReturnOp::create(builder, locationOf(at), values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
  return true;
}

} // namespace nncc::frontend
