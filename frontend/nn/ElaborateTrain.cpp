// The train section: every name, setting, loss, metric and argument is checked here, so that a
// mistake shows when the model is compiled, not after the first epoch. It adds nothing to @infer.
#include "frontend/nn/Elaborator.h"

#include "frontend/nn/Spelling.h"
#include "frontend/nn/TrainTable.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <algorithm>

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
  bool required;
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
    llvm::StringRef spec = rest.take_front(end);
    result.push_back({name.str(), spec.split(" = ").first.str(), !spec.contains(" = ")});
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
  if (kind == "floats")
    return isListOf(value, [](const NnValue &item) { return item.number().has_value(); });
  if (kind == "strings")
    return isListOf(value, [](const NnValue &item) { return item.as<std::string>(); });
  return true;
}

} // namespace

/// Names are known, calls of losses and metrics have their arguments. `used` collects the names.
bool Elaborator::checkTrainExpr(const Expr &expr, std::set<std::string> &used) {
  if (auto *name = std::get_if<NameRef>(&expr.node)) {
    used.insert(name->name);
    return evalName(*name, expr.range).has_value();
  }
  if (auto *unary = std::get_if<Unary>(&expr.node))
    return checkTrainExpr(*unary->operand, used);
  if (auto *binary = std::get_if<Binary>(&expr.node))
    return checkTrainExpr(*binary->lhs, used) && checkTrainExpr(*binary->rhs, used);
  if (auto *member = std::get_if<Member>(&expr.node))
    return checkTrainExpr(*member->base, used);
  if (auto *subscript = std::get_if<Subscript>(&expr.node))
    return checkTrainExpr(*subscript->base, used);
  auto *call = std::get_if<Call>(&expr.node);
  if (!call)
    return true;

  const TrainFunction *function = findTrainFunction("loss", call->callee.name);
  if (!function)
    function = findTrainFunction("metric", call->callee.name);
  std::vector<TrainArgument> formals;
  if (function) {
    formals = argumentsOf(*function);
    std::vector<Formal> names;
    for (const TrainArgument &argument : formals)
      names.push_back({argument.name, argument.required});
    if (!matchArguments(*call, expr.range, names, {}))
      return false;
  } else if (!findOp(call->callee.name) && !frame->scope->blocks.contains(call->callee.name)) {
    std::vector<std::string> candidates = namesIn("loss"), metrics = namesIn("metric");
    candidates.insert(candidates.end(), metrics.begin(), metrics.end());
    fail(call->callee.range,
         fmt::format("'{}' is no loss, metric or operation{}", call->callee.name,
                     suggestion(call->callee.name, candidates)));
    return false;
  }
  for (const auto &entry : call->arguments.entries)
    if (!checkTrainExpr(*entry.value.value, used))
      return false;
  return true;
}

/// `optimizer = sgd(...)` and the like.
bool Elaborator::checkSetting(const Assign &assign, llvm::StringRef family) {
  std::string article = family.starts_with("o") ? "an" : "a";
  auto *call = std::get_if<Call>(&assign.value->node);
  const TrainFunction *function =
      call ? findTrainFunction({family.data(), family.size()}, call->callee.name) : nullptr;
  if (!function) {
    std::vector<std::string> known = namesIn({family.data(), family.size()});
    fail(call ? call->callee.range : assign.value->range,
         fmt::format("expected {} {} ({}){}", article, family.str(), fmt::join(known, ", "),
                     call ? suggestion(call->callee.name, known) : ""));
    return false;
  }
  std::vector<TrainArgument> formals = argumentsOf(*function);
  std::vector<Formal> names;
  for (const TrainArgument &argument : formals)
    names.push_back({argument.name, argument.required});
  auto matched = matchArguments(*call, assign.value->range, names, {});
  if (!matched)
    return false;
  for (size_t i = 0; i < formals.size(); ++i) {
    const Argument *argument = (*matched)[i];
    if (!argument)
      continue;
    Result value = eval(*argument->value);
    if (!value)
      return false;
    if (!matchesKind(formals[i].kind, *value)) {
      fail(argument->value->range,
           fmt::format("argument '{}' of '{}' must be of kind {}, found {}", formals[i].name,
                       call->callee.name, formals[i].kind, describe(*value)));
      return false;
    }
  }
  return true;
}

bool Elaborator::checkTrain(const TrainDecl &train) {
  frame->inTrain = true;
  std::set<std::string> used, settings;
  std::vector<Identifier> locals;
  std::vector<std::string> settingNames;
  for (const TrainSetting &setting : trainSettings())
    settingNames.emplace_back(setting.name);

  for (const Statement &statement : train.body.statements) {
    if (auto *target = std::get_if<Target>(&statement.node)) {
      if (frame->variables.contains(target->name.name)) {
        fail(target->name.range,
             fmt::format("'{}' is a value of the model; give the target another name",
                         target->name.name));
        return false;
      }
      nn::Shape shape;
      for (const ExprPtr &expr : target->type.dims) {
        std::optional<nn::Dim> dim = inputDim(*expr);
        if (!dim)
          return false;
        shape.push_back(*dim);
      }
      frame->variables[target->name.name] = NoneValue();
    } else if (auto *metric = std::get_if<Metric>(&statement.node)) {
      if (!checkTrainExpr(*metric->value, used))
        return false;
    } else if (auto *assigned = std::get_if<Assign>(&statement.node)) {
      const Identifier &name = assigned->targets.front();
      const TrainSetting *setting = findTrainSetting(name.name);
      if (setting && !settings.insert(name.name).second) {
        fail(name.range, fmt::format("'{}' is set twice", name.name));
        return false;
      }
      if (setting && !setting->family.empty()) {
        if (!checkSetting(*assigned, {setting->family.data(), setting->family.size()}))
          return false;
      } else if (setting && setting->kind != "expression") {
        Result value = eval(*assigned->value);
        if (!value)
          return false;
        if (!matchesKind({setting->kind.data(), setting->kind.size()}, *value)) {
          fail(assigned->value->range, fmt::format("'{}' must be of kind {}, found {}", name.name,
                                                   setting->kind, describe(*value)));
          return false;
        }
      } else {
        if (!checkTrainExpr(*assigned->value, used))
          return false;
        if (!setting)
          locals.insert(locals.end(), assigned->targets.begin(), assigned->targets.end());
        for (const Identifier &target : assigned->targets)
          frame->variables[target.name] = NoneValue();
      }
    } else {
      fail(statement.range, "a train section holds targets, metrics and 'name = value'");
      return false;
    }
  }
  // A value that nothing uses is a mistyped setting.
  for (const Identifier &local : locals)
    if (!used.contains(local.name) && local.name != "_") {
      fail(local.range,
           fmt::format("'{}' is no setting, and nothing uses it{}; settings are {}", local.name,
                       suggestion(local.name, settingNames), fmt::join(settingNames, ", ")));
      return false;
    }
  for (const char *required : {"loss", "optimizer"})
    if (!settings.contains(required)) {
      fail(program.mainScope().trainRange,
           fmt::format("this train section has no '{} = ...'", required));
      return false;
    }
  return true;
}

} // namespace nncc::frontend
