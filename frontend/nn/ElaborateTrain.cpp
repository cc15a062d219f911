// The train section, of the model's file and of a text of its own (`nncc --train=...`). Its losses and metrics become the function
// @evaluate: the model's ops once more, with the targets as further inputs and the loss and the metrics as results. Its settings
// become the module's attribute `nn.train`. Every name and argument is checked whether or not the model is compiled for training, so
// that a mistake shows at once and not after the first epoch.
#include "frontend/nn/Elaborator.h"

#include "frontend/nn/Spelling.h"
#include "frontend/nn/TrainTable.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nncc::frontend {

namespace {

std::vector<std::string> namesIn(std::string_view family) {
  std::vector<std::string> names;
  for (const TrainFunction &function : trainFunctions())
    if (function.family == family)
      names.emplace_back(function.name);
  return names;
}

struct TrainArgument {
  std::string name, kind;
  std::optional<std::string> fallback;
};

std::vector<TrainArgument> argumentsOf(const TrainFunction &function) {
  std::vector<TrainArgument> result;
  llvm::StringRef text(function.signature.data(), function.signature.size());
  // A default may hold commas ("[0.9, 0.999]"), so arguments are split where a name and a colon
  // follow.
  while (!text.empty()) {
    auto [name, rest] = text.split(": ");
    size_t end = rest.size(), at = 0;
    for (llvm::StringRef tail = rest; (at = tail.find(", ")) != llvm::StringRef::npos;) {
      tail = tail.drop_front(at + 2);
      if (tail.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; }).size() ==
          std::min(tail.find(':'), tail.size())) {
        end = rest.size() - tail.size() - 2;
        break;
      }
    }
    auto [kind, fallback] = rest.take_front(end).split(" = ");
    result.push_back({name.str(), kind.str(),
                      fallback.empty() ? std::nullopt : std::optional(fallback.str())});
    text = rest.drop_front(std::min(rest.size(), end + 2));
  }
  return result;
}

bool isListOf(const NnValue &value, llvm::function_ref<bool(const NnValue &)> test) {
  auto *list = value.as<ListValue>();
  return list && std::all_of((*list)->begin(), (*list)->end(), test);
}

bool matchesKind(llvm::StringRef kind, const NnValue &value) {
  if (kind.consume_back("?") && value.isNone())
    return true;
  if (kind == "int")
    return value.as<int64_t>();
  if (kind == "float")
    return value.number().has_value();
  if (kind == "bool")
    return value.as<bool>();
  if (kind == "dtype")
    return value.as<DType>();
  if (kind == "floats")
    return isListOf(value, [](const NnValue &item) { return item.number().has_value(); });
  if (kind == "strings")
    return isListOf(value, [](const NnValue &item) { return item.as<std::string>(); });
  return true;
}

/// A default from the table. The texts are ours: numbers, lists of numbers, false and true.
NnValue trainDefault(llvm::StringRef text) {
  if (text == "true" || text == "false")
    return text == "true";
  if (text.consume_front("[") && text.consume_back("]")) {
    std::vector<NnValue> items;
    llvm::SmallVector<llvm::StringRef> parts;
    text.split(parts, ',', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts)
      items.push_back(trainDefault(part.trim()));
    return NnValue::list(std::move(items));
  }
  return text.find_first_of(".e") == llvm::StringRef::npos ? NnValue(std::stoll(text.str()))
                                                           : NnValue(std::stod(text.str()));
}

/// A checked value of this kind as an attribute: i64, f64, bool, a type, and arrays of f64 and strings.
mlir::Attribute attributeOf(mlir::Builder &builder, llvm::StringRef kind, const NnValue &value) {
  if (kind == "int")
    return builder.getI64IntegerAttr(*value.as<int64_t>());
  if (kind == "bool")
    return builder.getBoolAttr(*value.as<bool>());
  if (kind == "float")
    return builder.getF64FloatAttr(*value.number());
  if (kind == "dtype")
    return mlir::TypeAttr::get(nn::elementType(builder.getContext(), *value.as<DType>()));
  llvm::SmallVector<mlir::Attribute> items;
  for (const NnValue &item : **value.as<ListValue>())
    items.push_back(kind == "floats" ? mlir::Attribute(builder.getF64FloatAttr(*item.number()))
                                     : builder.getStringAttr(*item.as<std::string>()));
  return builder.getArrayAttr(items);
}

llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }

/// What a statement says that a section says once: "target label", "metric accuracy", "loss"; empty for a value in between.
std::string subjectOf(const Statement &statement) {
  if (auto *target = std::get_if<Target>(&statement.node))
    return "target " + target->name.name;
  if (auto *metric = std::get_if<Metric>(&statement.node))
    return "metric " + metric->name.name;
  auto *assigned = std::get_if<Assign>(&statement.node);
  bool isSetting = assigned && findTrainSetting(assigned->targets.front().name);
  return isSetting ? assigned->targets.front().name : "";
}

const Expr *valueOf(const Statement &statement) {
  if (auto *metric = std::get_if<Metric>(&statement.node))
    return metric->value.get();
  auto *assigned = std::get_if<Assign>(&statement.node);
  return assigned ? assigned->value.get() : nullptr;
}

} // namespace

/// `optimizer = sgd(...)` and the like, as a dictionary with its name as `kind`.
mlir::Attribute Elaborator::trainSetting(const Assign &assign, llvm::StringRef family) {
  std::string article = family.starts_with("o") ? "an" : "a";
  auto *call = std::get_if<Call>(&assign.value->node);
  const TrainFunction *function =
      call ? findTrainFunction({family.data(), family.size()}, call->callee.name) : nullptr;
  if (!function) {
    std::vector<std::string> known = namesIn({family.data(), family.size()});
    fail(call ? call->callee.range : assign.value->range,
         fmt::format("expected {} {} ({}){}", article, family.str(), fmt::join(known, ", "),
                     call ? suggestion(call->callee.name, known) : ""));
    return {};
  }
  std::vector<TrainArgument> formals = argumentsOf(*function);
  std::vector<Formal> names;
  for (const TrainArgument &argument : formals)
    names.push_back({argument.name, !argument.fallback});
  auto matched = matchArguments(*call, assign.value->range, names, {});
  if (!matched)
    return {};
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      builder.getNamedAttr("kind", builder.getStringAttr(call->callee.name))};
  for (size_t i = 0; i < formals.size(); ++i) {
    const Argument *argument = (*matched)[i];
    Result value = argument ? eval(*argument->value) : Result(trainDefault(*formals[i].fallback));
    if (!value)
      return {};
    if (!matchesKind(formals[i].kind, *value)) {
      fail(argument->value->range,
           fmt::format("argument '{}' of '{}' must be of kind {}, found {}", formals[i].name,
                       call->callee.name, formals[i].kind, describe(*value)));
      return {};
    }
    attributes.push_back(
        builder.getNamedAttr(formals[i].name, attributeOf(builder, formals[i].kind, *value)));
  }
  return builder.getDictionaryAttr(attributes);
}

/// A copy of @infer that returns nothing yet; the names of the frame stand for its values.
void Elaborator::startEvaluate() {
  builder.setInsertionPointAfter(function);
  evaluate = mlir::cast<mlir::func::FuncOp>(function->cloneWithoutRegions());
  evaluate.setName("evaluate");
  builder.insert(evaluate);
  mlir::IRMapping mapping;
  function.getBody().cloneInto(&evaluate.getBody(), mapping);
  evaluate.getBody().front().getTerminator()->erase();
  for (auto &[name, value] : frame->variables)
    if (mlir::Value tensor = value.tensor())
      value = mapping.lookupOrDefault(tensor);
  builder.setInsertionPointToEnd(&evaluate.getBody().front());
}

bool Elaborator::addTarget(const Target &target) {
  if (frame->variables.contains(target.name.name)) {
    fail(target.name.range,
         fmt::format("'{}' is a value of the model; give the target another name",
                     target.name.name));
    return false;
  }
  nn::Shape shape;
  for (const ExprPtr &expr : target.type.dims) {
    std::optional<nn::Dim> dim = inputDim(*expr);
    if (!dim)
      return false;
    shape.push_back(*dim);
  }
  mlir::FailureOr<mlir::RankedTensorType> type = nn::tensorType(
      locationOf(target.type.range), shape, nn::elementType(&context, target.type.dtype));
  mlir::Location loc = locationOf(target.name.range);
  if (mlir::failed(type) ||
      mlir::failed(evaluate.insertArgument(evaluate.getNumArguments(), *type,
                                           nameAttribute(target.name.name), loc)))
    return false;
  frame->variables[target.name.name] = mlir::Value(evaluate.getArguments().back());
  return true;
}

/// One number for the caller: a result of @evaluate.
bool Elaborator::addTrainResult(llvm::StringRef name, const NnValue &value, SourceRange at) {
  mlir::Value tensor = value.tensor();
  bool isOne = tensor && llvm::isa<mlir::FloatType>(value.tensorType().getElementType()) &&
               value.tensorType().hasStaticShape() && value.tensorType().getNumElements() == 1;
  if (!isOne) {
    fail(at, fmt::format("'{}' must be one floating-point number for the batch, found {}{}",
                         name.str(), describe(value), tensor ? "; take its mean" : ""));
    return false;
  }
  auto scalar = mlir::RankedTensorType::get({}, value.tensorType().getElementType());
  if (tensor.getType() != scalar)
    tensor = nn::ReshapeOp::create(builder, locationOf(at), scalar, tensor);
  trainResults.push_back(tensor);
  trainResultNames.push_back(nameAttribute(name));
  return true;
}

void Elaborator::collectNames(const Expr &expr, std::set<std::string> &used) {
  if (auto *name = std::get_if<NameRef>(&expr.node))
    used.insert(name->name);
  else if (auto *unary = std::get_if<Unary>(&expr.node))
    collectNames(*unary->operand, used);
  else if (auto *binary = std::get_if<Binary>(&expr.node))
    collectNames(*binary->lhs, used), collectNames(*binary->rhs, used);
  else if (auto *member = std::get_if<Member>(&expr.node))
    collectNames(*member->base, used);
  else if (auto *subscript = std::get_if<Subscript>(&expr.node))
    collectNames(*subscript->base, used);
  else if (auto *list = std::get_if<ListLiteral>(&expr.node))
    for (const auto &entry : list->items.entries)
      collectNames(*entry.value, used);
  else if (auto *call = std::get_if<Call>(&expr.node))
    for (const auto &entry : call->arguments.entries)
      collectNames(*entry.value.value, used);
}

bool Elaborator::trainAssign(const Assign &assigned, TrainNames &names,
                             llvm::SmallVectorImpl<mlir::NamedAttribute> &settings) {
  const Identifier &name = assigned.targets.front();
  const TrainSetting *setting = findTrainSetting(name.name);
  if (setting && !names.settings.insert(name.name).second) {
    fail(name.range, fmt::format("'{}' is set twice", name.name));
    return false;
  }
  // A setting that is also a plain number may be a call.
  bool isPlain = setting && !setting->kind.empty() &&
                 (setting->family.empty() || !std::holds_alternative<Call>(assigned.value->node));
  if (name.name == "precision")
    names.precision = assigned.value->range;
  if (name.name == "loss_scale")
    names.lossScale = assigned.value->range;
  if (setting && !isPlain) {
    mlir::Attribute value = trainSetting(assigned, ref(setting->family));
    if (!value)
      return false;
    settings.push_back(builder.getNamedAttr(name.name, value));
    return true;
  }
  collectNames(*assigned.value, names.used);
  if (!setting) {
    names.locals.insert(names.locals.end(), assigned.targets.begin(), assigned.targets.end());
    return assign(assigned);
  }
  Result value = eval(*assigned.value);
  if (!value)
    return false;
  if (name.name == "loss")
    return addTrainResult("loss", *value, assigned.value->range);
  if (!matchesKind(ref(setting->kind), *value)) {
    fail(assigned.value->range, fmt::format("'{}' must be of kind {}, found {}", name.name,
                                            setting->kind, describe(*value)));
    return false;
  }
  settings.push_back(
      builder.getNamedAttr(name.name, attributeOf(builder, ref(setting->kind), *value)));
  return true;
}

/// What the precision may be, and that the loss is scaled where that helps, by numbers that work.
bool Elaborator::checkPrecision(const TrainNames &names, mlir::DictionaryAttr settings) {
  auto precision = settings.getAs<mlir::TypeAttr>("precision");
  mlir::Type element = precision ? precision.getValue() : builder.getF32Type();
  if (!element.isF32() && !element.isBF16() && !element.isF16()) {
    fail(*names.precision, fmt::format("'precision' must be f32, bf16 or f16, found {}",
                                       nameOf(*nn::dtypeOf(element))));
    return false;
  }
  mlir::Attribute scale = settings.get("loss_scale");
  if (!scale)
    return true;
  if (!element.isF16()) {
    fail(*names.lossScale,
         fmt::format("'loss_scale' goes with 'precision = f16': in {} no gradient is too small",
                     nameOf(*nn::dtypeOf(element))));
    return false;
  }
  auto expect = [&](bool holds, const char *what) {
    if (!holds)
      fail(*names.lossScale, fmt::format("a loss scale needs {}", what));
    return holds;
  };
  auto isScale = [&](double value) {
    return expect(value > 0 && std::isfinite(static_cast<float>(value)),
                  "a factor above 0 that f32 can hold");
  };
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(scale))
    return isScale(number.getValueAsDouble());
  auto dynamic = llvm::cast<mlir::DictionaryAttr>(scale);
  auto number = [&](llvm::StringRef name) {
    return dynamic.getAs<mlir::FloatAttr>(name).getValueAsDouble();
  };
  return isScale(number("init")) && expect(number("growth") > 1, "a 'growth' above 1") &&
         expect(number("backoff") > 0 && number("backoff") < 1, "a 'backoff' between 0 and 1") &&
         expect(dynamic.getAs<mlir::IntegerAttr>("interval").getInt() >= 1,
                "an 'interval' of at least 1");
}

bool Elaborator::trainStatement(const Statement &statement, TrainNames &names,
                                llvm::SmallVectorImpl<mlir::NamedAttribute> &settings) {
  if (auto *target = std::get_if<Target>(&statement.node))
    return addTarget(*target);
  if (auto *assigned = std::get_if<Assign>(&statement.node))
    return trainAssign(*assigned, names, settings);
  auto *metric = std::get_if<Metric>(&statement.node);
  if (!metric) {
    fail(statement.range, "a train section holds targets, metrics and 'name = value'");
    return false;
  }
  collectNames(*metric->value, names.used);
  if (!names.metrics.insert(metric->name.name).second || metric->name.name == "loss") {
    fail(metric->name.range, fmt::format("two metrics are named '{}'", metric->name.name));
    return false;
  }
  Result value = eval(*metric->value);
  return value && addTrainResult(metric->name.name, *value, metric->value->range);
}

bool Elaborator::elaborateTrain() {
  frame->inTrain = true;
  startEvaluate();
  TrainNames names;
  llvm::SmallVector<mlir::NamedAttribute> settings;
  std::set<std::string> replaced; // what the text of its own says in the section's place
  if (const TrainDecl *added = program.addedTraining())
    for (const Statement &statement : added->body.statements)
      replaced.insert(subjectOf(statement));
  replaced.erase("");
  if (const TrainDecl *section = program.mainScope().train)
    for (const Statement &statement : section->body.statements) {
      if (!replaced.contains(subjectOf(statement))) {
        if (!trainStatement(statement, names, settings))
          return false;
      } else if (const Expr *value = valueOf(statement)) {
        collectNames(*value, names.used); // what only a replaced value uses is no mistake
      }
    }
  if (const TrainDecl *added = program.addedTraining())
    for (const Statement &statement : added->body.statements)
      if (!trainStatement(statement, names, settings))
        return false;
  mlir::DictionaryAttr all = builder.getDictionaryAttr(settings);
  if (!checkTrainNames(names) || !checkPrecision(names, all))
    return false;
  finishEvaluate();
  module->setAttr(nn::NNDialect::kTrainAttr, all);
  return true;
}

bool Elaborator::addTraining(mlir::ModuleOp to) {
  module = to;
  function = module.lookupSymbol<mlir::func::FuncOp>("infer");
  Frame moduleFrame;
  moduleFrame.scope = &program.mainScope();
  moduleFrame.callCounts = &moduleFrame.ownCounts;
  frame = &moduleFrame;
  auto declare = [&](mlir::StringAttr name, mlir::Value value) {
    if (name)
      frame->variables[name.getValue().str()] = value;
  };
  constexpr llvm::StringRef kName = nn::NNDialect::kNameAttr;
  for (mlir::BlockArgument argument : function.getArguments())
    declare(function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), kName), argument);
  for (mlir::OpOperand &output : function.getBody().front().getTerminator()->getOpOperands())
    declare(function.getResultAttrOfType<mlir::StringAttr>(output.getOperandNumber(), kName), output.get());
  if (auto dims = module->getAttrOfType<mlir::ArrayAttr>(nn::NNDialect::kDimsAttr))
    for (auto dim : dims.getAsRange<nn::DimAttr>())
      usedDims.push_back({dim.getName().str(), dim.getMin(), dim.getMax(), {}, /*standsAlone=*/true});
  if (!elaborateTrain())
    return false;
  setDims();
  return mlir::succeeded(mlir::verify(module));
}

bool Elaborator::checkTrainNames(const TrainNames &names) {
  // A value that nothing uses is a mistyped setting.
  std::vector<std::string> settingNames;
  for (const TrainSetting &setting : trainSettings())
    settingNames.emplace_back(setting.name);
  for (const Identifier &local : names.locals)
    if (!names.used.contains(local.name) && local.name != "_") {
      fail(local.range,
           fmt::format("'{}' is no setting, and nothing uses it{}; settings are {}", local.name,
                       suggestion(local.name, settingNames), fmt::join(settingNames, ", ")));
      return false;
    }
  for (const char *required : {"loss", "optimizer"})
    if (!names.settings.contains(required)) {
      fail(program.trainRange(), fmt::format("this train section has no '{} = ...'", required));
      return false;
    }
  return true;
}

/// The loss comes first, wherever it stands in the text.
void Elaborator::finishEvaluate() {
  for (size_t i = 1; i < trainResults.size(); ++i)
    if (trainResultNames[i] == nameAttribute("loss")) {
      std::rotate(trainResults.begin(), trainResults.begin() + i, trainResults.begin() + i + 1);
      std::rotate(trainResultNames.begin(), trainResultNames.begin() + i,
                  trainResultNames.begin() + i + 1);
    }
  mlir::func::ReturnOp::create(builder, locationOf(program.trainRange()), trainResults);
  llvm::SmallVector<mlir::Type> types = llvm::map_to_vector(
      trainResults, [](mlir::Value value) { return value.getType(); });
  evaluate.setType(builder.getFunctionType(evaluate.getArgumentTypes(), types));
  evaluate.setAllResultAttrs(trainResultNames);
}

} // namespace nncc::frontend
