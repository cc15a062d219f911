// Calls: blocks, operations of the table, functions of numbers, initialisers. Arguments are matched
// with parameters by position and name, checked against their kinds, and every mismatch is reported
// where it stands.
#include "frontend/nn/Elaborator.h"

#include "frontend/nn/ForeignNames.h"
#include "frontend/nn/Lexer.h"
#include "frontend/nn/Parser.h"
#include "frontend/nn/Spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nncc::frontend {

namespace {

/// Blocks may call blocks, but not endlessly.
constexpr size_t maxBlockDepth = 64;

const std::vector<std::string> numericFunctions = {"abs", "ceil", "exp", "float", "floor", "int",
                                                   "len", "log",  "max", "min",   "round", "sqrt"};

bool isIntOrList(const NnValue &value) {
  if (value.as<int64_t>())
    return true;
  auto *list = value.as<ListValue>();
  return list && std::all_of((*list)->begin(), (*list)->end(),
                             [](const NnValue &item) { return item.as<int64_t>(); });
}

bool isDims(const NnValue &value) {
  auto *list = value.as<ListValue>();
  return list && std::all_of((*list)->begin(), (*list)->end(), [](const NnValue &item) {
           return item.as<int64_t>() || item.as<nn::Dim>();
         });
}

bool isPadding(const NnValue &value) {
  if (value.as<std::string>() || isIntOrList(value))
    return true;
  auto *list = value.as<ListValue>();
  return list && std::all_of((*list)->begin(), (*list)->end(), [](const NnValue &pair) {
           return pair.as<ListValue>() && isIntOrList(pair) && (*pair.as<ListValue>())->size() == 2;
         });
}

bool isTensors(const NnValue &value) {
  auto *list = value.as<ListValue>();
  return list && !(*list)->empty() &&
         std::all_of((*list)->begin(), (*list)->end(),
                     [](const NnValue &item) { return !!item.tensor(); });
}

bool matches(ArgKind kind, const NnValue &value) {
  switch (kind) {
  case ArgKind::Tensor:
    return !!value.tensor();
  case ArgKind::Tensors:
    return isTensors(value);
  case ArgKind::Scalar:
    return value.tensor() || value.number();
  case ArgKind::Int:
    return value.as<int64_t>();
  case ArgKind::Ints:
    return isIntOrList(value);
  case ArgKind::Dims:
    return isDims(value);
  case ArgKind::Float:
    return value.number().has_value();
  case ArgKind::Bool:
    return value.as<bool>();
  case ArgKind::String:
    return value.as<std::string>();
  case ArgKind::Padding:
    return isPadding(value);
  case ArgKind::DType:
    return value.as<DType>();
  }
  return false;
}

std::string_view expectedOf(ArgKind kind) {
  switch (kind) {
  case ArgKind::Tensor:
    return "a tensor";
  case ArgKind::Tensors:
    return "a list of tensors";
  case ArgKind::Scalar:
    return "a tensor or a number";
  case ArgKind::Int:
    return "an integer";
  case ArgKind::Ints:
    return "an integer or a list of integers";
  case ArgKind::Dims:
    return "a list of dimensions";
  case ArgKind::Float:
    return "a number";
  case ArgKind::Bool:
    return "true or false";
  case ArgKind::String:
    return "a string";
  case ArgKind::Padding:
    return "integers, pairs of integers [[before, after], ...], \"same\" or \"valid\"";
  case ArgKind::DType:
    return "an element type such as f32";
  }
  return "?";
}

/// A default from a signature. The texts are ours, and the tests call every operation, so they are
/// well-formed.
NnValue defaultValue(const std::string &text) {
  if (text == "none")
    return NoneValue();
  if (text == "true" || text == "false")
    return text == "true";
  if (text.front() == '"')
    return unescape(text);
  if (text.find_first_of(".e") == std::string::npos)
    return static_cast<int64_t>(std::stoll(text));
  return std::stod(text);
}

} // namespace

std::optional<Elaborator::Results> Elaborator::evalCall(const Call &call, SourceRange at) {
  if (!countStep(at))
    return std::nullopt;
  const std::string &name = call.callee.name;
  if (auto block = frame->scope->blocks.find(name); block != frame->scope->blocks.end())
    return callBlock(block->second, call, at);
  if (name.starts_with("init.")) {
    Result value = callInit(call, at);
    return value ? std::optional(Results{*value}) : std::nullopt;
  }
  if (const OpInfo *info = frame->inTrain ? findTrainOp(name) : nullptr)
    return callOp(*info, call, at);
  const OpInfo *info = findOp(name);
  bool numeric =
      std::find(numericFunctions.begin(), numericFunctions.end(), name) != numericFunctions.end();
  bool positional = std::none_of(call.arguments.entries.begin(), call.arguments.entries.end(),
                                 [](const auto &entry) { return entry.value.name.has_value(); });
  if (numeric && (positional || !info)) {
    // min(a, b) and the like compute now unless a tensor is among the arguments.
    Results arguments;
    for (const auto &entry : call.arguments.entries) {
      Result value = eval(*entry.value.value);
      if (!value)
        return std::nullopt;
      arguments.push_back(std::move(*value));
    }
    bool tensors = llvm::any_of(arguments, [](const NnValue &value) { return !!value.tensor(); });
    if (tensors && info)
      return callOp(*info, call, at, &arguments);
    Result value = callNumeric(call, arguments, at);
    return value ? std::optional(Results{*value}) : std::nullopt;
  }
  return info ? callOp(*info, call, at) : std::optional<Results>(unknownCallee(call));
}

std::nullopt_t Elaborator::unknownCallee(const Call &call) {
  if (frame->inTrain) {
    std::vector<std::string> known;
    for (const OpInfo &op : trainOps())
      known.push_back(op.name());
    return fail(call.callee.range,
                fmt::format("'{}' is no loss, metric or operation{}", call.callee.name,
                            suggestion(call.callee.name, known)));
  }
  std::vector<std::string> candidates;
  for (const auto &[block, declared] : frame->scope->blocks)
    candidates.push_back(block);
  for (const OpInfo &op : allOps())
    candidates.push_back(op.name());
  candidates.insert(candidates.end(), numericFunctions.begin(), numericFunctions.end());
  const std::string &name = call.callee.name;
  std::string_view what = frame->variables.contains(name) ? "is a value, not an operation or block"
                                                          : "is no operation or block";
  bool baseIsValue = frame->variables.contains(name.substr(0, name.find('.')));
  return fail(call.callee.range,
              fmt::format("'{}' {}{}", name, what, adviceForCallee(name, baseIsValue, candidates)));
}

std::optional<std::vector<const Argument *>>
Elaborator::matchArguments(const Call &call, SourceRange at, const std::vector<Formal> &formals,
                           llvm::ArrayRef<std::string> extraNames) {
  std::vector<const Argument *> matched(formals.size());
  std::vector<std::string> names;
  for (const Formal &formal : formals)
    names.push_back(formal.name);
  size_t position = 0;
  for (const auto &entry : call.arguments.entries) {
    const Argument &argument = entry.value;
    size_t index = position;
    if (argument.name) {
      if (llvm::is_contained(extraNames, argument.name->name))
        continue;
      index = std::find(names.begin(), names.end(), argument.name->name) - names.begin();
      if (index == names.size()) {
        std::string advice = adviceForArgument(argument.name->name);
        if (advice.empty())
          advice = suggestName(argument.name->name, names);
        return fail(argument.name->range,
                    fmt::format("'{}' has no argument '{}'{}; it takes {}", call.callee.name,
                                argument.name->name, advice, fmt::join(names, ", ")));
      }
    } else if (position++ >= names.size()) {
      const OpInfo *op = findOp(call.callee.name);
      bool endsWithList = op && (op->arguments().back().kind == ArgKind::Dims ||
                                 op->arguments().back().kind == ArgKind::Ints);
      return fail(argument.value->range,
                  fmt::format("'{}' takes {} argument{} ({}), found {}{}", call.callee.name,
                              names.size(), names.size() == 1 ? "" : "s", fmt::join(names, ", "),
                              call.arguments.entries.size(),
                              endsWithList ? "; write several numbers as a list, [a, b]" : ""));
    }
    if (matched[index])
      return fail(
          argument.name ? argument.name->range : argument.value->range,
          fmt::format("argument '{}' of '{}' is given twice", names[index], call.callee.name));
    matched[index] = &argument;
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < formals.size(); ++i)
    if (formals[i].required && !matched[i])
      missing.push_back(formals[i].name);
  if (!missing.empty())
    return fail(at, fmt::format("'{}' needs the argument{} '{}'", call.callee.name,
                                missing.size() == 1 ? "" : "s", fmt::join(missing, "', '")));
  return matched;
}

std::optional<Elaborator::Results> Elaborator::callBlock(const Declared<BlockDecl> &block,
                                                         const Call &call, SourceRange at) {
  if (frameDepth >= maxBlockDepth)
    return std::optional<Results>(
        fail(at, fmt::format("blocks call each other more than {} deep; does '{}' "
                             "call itself?",
                             maxBlockDepth, call.callee.name)));
  std::vector<Formal> formals;
  for (const auto &entry : block.node->parameters.entries)
    formals.push_back({entry.value.name.name, !entry.value.defaultValue});
  auto matched = matchArguments(call, at, formals, {});
  if (!matched)
    return std::nullopt;

  Frame inner;
  inner.scope = block.scope;
  for (size_t i = 0; i < formals.size(); ++i)
    if (const Argument *argument = (*matched)[i]) {
      Result value = eval(*argument->value);
      if (!value)
        return std::nullopt;
      inner.variables[formals[i].name] = std::move(*value);
    }
  std::optional<std::string> path = pathOf(call, at);
  if (!path)
    return std::nullopt;
  inner.path = *path;
  // `as .` puts the block's parameters beside the caller's, so their default names are counted
  // together.
  inner.callCounts = call.path && call.path->isHere() ? frame->callCounts : &inner.ownCounts;
  inner.call = &call;
  inner.callRange = call.callee.range;
  inner.caller = frame;
  inner.inTrain = frame->inTrain;

  Frame *outer = std::exchange(frame, &inner);
  ++frameDepth;
  auto leave = [&](std::optional<Results> results) {
    frame = outer;
    --frameDepth;
    return results;
  };
  // Defaults see the block's own file, and the parameters before them.
  for (size_t i = 0; i < formals.size(); ++i)
    if (!(*matched)[i]) {
      Result value = eval(*block.node->parameters.entries[i].value.defaultValue);
      if (!value)
        return leave(std::nullopt);
      inner.variables[formals[i].name] = std::move(*value);
    }
  if (!body(block.node->body))
    return leave(std::nullopt);
  Results results;
  for (const ReturnItem &item : std::get<Return>(block.node->body.statements.back().node).items) {
    Result value = eval(*item.value);
    if (!value)
      return leave(std::nullopt);
    results.push_back(std::move(*value));
  }
  return leave(std::move(results));
}

bool Elaborator::checkKind(const OpInfo &info, const OpArgument &argument, NnValue &value,
                           SourceRange at) {
  if ((argument.optional && value.isNone()) || matches(argument.kind, value))
    return true;
  std::string advice;
  if (argument.kind == ArgKind::Tensor && value.as<std::string>())
    advice = "; names of values are written without quotes";
  if (argument.kind == ArgKind::Int && value.as<double>())
    advice = "; '//' divides integers to an integer, int(x) rounds towards zero";
  if ((argument.kind == ArgKind::Int || argument.kind == ArgKind::Ints) && value.as<nn::Dim>())
    advice = "; it must be known when the model is compiled";
  fail(at, fmt::format("argument '{}' of '{}' must be {}{}, found {}{}", argument.name, info.name(),
                       expectedOf(argument.kind), argument.optional ? " or none" : "",
                       describe(value), advice));
  return false;
}

bool Elaborator::bindArguments(const OpInfo &info, const Call &call, SourceRange at,
                               const Results *evaluated, OpCall &opCall) {
  std::vector<Formal> formals;
  std::vector<std::string> initNames;
  for (const OpArgument &argument : info.arguments())
    formals.push_back({argument.name, !argument.fallback});
  for (const std::string &weight : info.weights())
    initNames.push_back(weight + "_init");
  auto matched = matchArguments(call, at, formals, initNames);
  if (!matched)
    return false;
  for (size_t i = 0; i < formals.size(); ++i) {
    const OpArgument &formal = info.arguments()[i];
    const Argument *given = (*matched)[i];
    if (!given) {
      opCall.arguments[formal.name] = {defaultValue(*formal.fallback), at};
      continue;
    }
    Result value = evaluated ? Result((*evaluated)[i]) : eval(*given->value);
    if (!value || !checkKind(info, formal, *value, given->value->range))
      return false;
    opCall.arguments[formal.name] = {std::move(*value), given->value->range};
  }
  for (const auto &entry : call.arguments.entries) {
    const Argument &argument = entry.value;
    if (!argument.name || !llvm::is_contained(initNames, argument.name->name))
      continue;
    Result value = eval(*argument.value);
    if (!value)
      return false;
    auto *init = value->as<InitValue>();
    if (!init) {
      fail(argument.value->range,
           fmt::format("'{}' takes an initialiser such as init.normal(0, 0.02), found {}",
                       argument.name->name, describe(*value)));
      return false;
    }
    std::string weight =
        argument.name->name.substr(0, argument.name->name.size() - strlen("_init"));
    opCall.inits[weight] = *init;
  }
  return true;
}

std::optional<Elaborator::Results> Elaborator::callOp(const OpInfo &info, const Call &call,
                                                      SourceRange at, const Results *evaluated) {
  if (frame->inTrain && !info.weights().empty())
    return std::optional<Results>(
        fail(at, fmt::format("'{}' has parameters; layers belong to the model", info.name())));
  if (info.weights().empty() && call.path)
    return std::optional<Results>(
        fail(call.path->range,
             fmt::format("'{}' has no parameters to name; put 'as' behind the call that has",
                         info.name())));
  auto reportError = [&](SourceRange range, std::string message) {
    fail(range, std::move(message));
  };
  auto add = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> shape, mlir::Type element,
                 const InitValue &init) { return addParameter(name, shape, element, init, at); };
  // Arguments first: calls among them come first in the text of the model as well, and so in
  // default paths.
  OpCall arguments(info, builder, locationOf(call.callee.range), at, "", add, reportError);
  if (!bindArguments(info, call, at, evaluated, arguments))
    return std::nullopt;
  std::string path;
  if (!info.weights().empty()) {
    std::optional<std::string> named = pathOf(call, at);
    if (!named)
      return std::nullopt;
    path = *named;
  }
  OpCall opCall(info, builder, locationOf(call.callee.range), at, path, add, reportError);
  opCall.arguments = std::move(arguments.arguments);
  opCall.inits = std::move(arguments.inits);
  OpResults results = info.entry().build(opCall);
  if (results.failed())
    return std::nullopt;
  if (info.givesList())
    return Results{
        NnValue::list(std::vector<NnValue>(results.values.begin(), results.values.end()))};
  return Results(results.values.begin(), results.values.end());
}

Elaborator::Result
Elaborator::applyOp(llvm::StringRef name,
                    llvm::ArrayRef<std::pair<llvm::StringRef, NnValue>> arguments, SourceRange at) {
  const OpInfo *info = findOp(name);
  assert(info && "an operator without its operation");
  auto reportError = [&](SourceRange range, std::string message) {
    fail(range, std::move(message));
  };
  auto add = [&](llvm::StringRef, llvm::ArrayRef<int64_t>, mlir::Type, const InitValue &) {
    return mlir::Value();
  };
  OpCall opCall(*info, builder, locationOf(at), at, "", add, reportError);
  for (const OpArgument &argument : info->arguments())
    if (argument.fallback)
      opCall.arguments[argument.name] = {defaultValue(*argument.fallback), at};
  for (const auto &[argument, given] : arguments) {
    NnValue value = given;
    if (!checkKind(*info, *info->find({argument.data(), argument.size()}), value, at))
      return std::nullopt;
    opCall.arguments[argument] = {std::move(value), at};
  }
  OpResults results = info->entry().build(opCall);
  if (results.failed())
    return std::nullopt;
  return NnValue(results.values.front());
}

Elaborator::Result Elaborator::callNumeric(const Call &call, const Results &arguments,
                                           SourceRange at) {
  const std::string &name = call.callee.name;
  if (call.path)
    return fail(call.path->range, fmt::format("'{}' has no parameters to name", name));
  if (name == "len") {
    if (arguments.size() == 1 && arguments[0].as<ListValue>())
      return NnValue(static_cast<int64_t>((*arguments[0].as<ListValue>())->size()));
    return fail(at, "'len' takes one list");
  }
  bool twoOrMore = name == "min" || name == "max";
  if (twoOrMore ? arguments.size() < 2 : arguments.size() != 1)
    return fail(at,
                fmt::format("'{}' takes {}, found {}", name,
                            twoOrMore ? "two numbers or more" : "one number", arguments.size()));
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].number())
      return fail(call.arguments.entries[i].value.value->range,
                  fmt::format("'{}' takes numbers{}, found {}", name,
                              findOp(name) ? " or tensors" : "", describe(arguments[i])));
  if (twoOrMore)
    return *std::min_element(
        arguments.begin(), arguments.end(), [&](const NnValue &a, const NnValue &b) {
          return name == "min" ? *a.number() < *b.number() : *a.number() > *b.number();
        });
  double x = *arguments[0].number();
  auto toInteger = [&](double value) -> Result {
    if (!(std::abs(value) < 0x1p63))
      return fail(at, "this number does not fit an integer");
    return NnValue(static_cast<int64_t>(value));
  };
  if (auto *integer = arguments[0].as<int64_t>()) {
    if (name == "int" || name == "floor" || name == "ceil" || name == "round")
      return NnValue(*integer);
    if (name == "abs" && *integer != INT64_MIN)
      return NnValue(*integer < 0 ? -*integer : *integer);
  }
  if (name == "int")
    return toInteger(std::trunc(x));
  if (name == "floor")
    return toInteger(std::floor(x));
  if (name == "ceil")
    return toInteger(std::ceil(x));
  if (name == "round")
    return toInteger(std::nearbyint(x));
  double result = name == "float" ? x
                  : name == "abs" ? std::abs(x)
                  : name == "exp" ? std::exp(x)
                  : name == "log" ? std::log(x)
                                  : std::sqrt(x);
  if (!std::isfinite(result))
    return fail(at, fmt::format("'{}' of {} is not a finite number", name, x));
  return NnValue(result);
}

} // namespace nncc::frontend
