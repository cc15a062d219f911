// Parameters: their paths and how they start. A path is the enclosing call's path, a dot and the
// text after `as`; without `as` it is the callee's name in snake case, with _1, _2, ... from the
// second such call in the same place on, as Keras names layers.
#include "frontend/nn/Elaborator.h"

#include "frontend/nn/Spelling.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <cmath>

namespace nncc::frontend {

namespace {

std::string snakeCase(const std::string &name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    bool startsWord =
        llvm::isUpper(name[i]) && i > 0 && name[i - 1] != '_' &&
        (!llvm::isUpper(name[i - 1]) || (i + 1 < name.size() && llvm::isLower(name[i + 1])));
    if (startsWord)
      result += '_';
    result += llvm::toLower(name[i]);
  }
  return result;
}

std::string joined(const std::string &prefix, const std::string &path) {
  return prefix.empty() ? path : path.empty() ? prefix : prefix + "." + path;
}

struct InitKind {
  std::string_view name;
  std::vector<std::pair<std::string_view, double>> numbers; // arguments and their defaults
};

const std::vector<InitKind> initKinds = {
    {"zeros", {}},
    {"ones", {}},
    {"constant", {{"value", 0.0}}},
    {"uniform", {{"low", 0.0}, {"high", 1.0}}},
    {"normal", {{"mean", 0.0}, {"std", 1.0}}},
    {"kaiming_uniform", {{"a", 0.0}}},
    {"kaiming_normal", {{"a", 0.0}}},
    {"xavier_uniform", {{"gain", 1.0}}},
    {"xavier_normal", {{"gain", 1.0}}},
};

/// The initialiser with its numbers, those that depend on the shape computed as PyTorch does:
/// fan-in is dimension 1 times the receptive field, fan-out dimension 0 times it. Nothing when the
/// shape has no fans.
std::optional<InitValue> resolve(const InitValue &init, llvm::ArrayRef<int64_t> shape) {
  bool kaiming = init.kind.starts_with("kaiming_");
  if (!kaiming && !init.kind.starts_with("xavier_"))
    return init;
  if (shape.size() < 2)
    return std::nullopt;
  double receptive = 1;
  for (int64_t extent : shape.drop_front(2))
    receptive *= static_cast<double>(extent);
  double fanIn = static_cast<double>(shape[1]) * receptive;
  double fanOut = static_cast<double>(shape[0]) * receptive;
  double deviation = kaiming ? std::sqrt(2.0 / (1.0 + init.a * init.a)) / std::sqrt(fanIn)
                             : init.a * std::sqrt(2.0 / (fanIn + fanOut));
  if (init.kind.ends_with("_normal"))
    return InitValue{"normal", 0.0, deviation};
  double bound = std::sqrt(3.0) * deviation;
  return InitValue{"uniform", -bound, bound};
}

} // namespace

std::optional<std::string> Elaborator::expandPath(const Path &path) {
  std::string text;
  for (const Path::Piece &piece : path.pieces) {
    if (!piece.hole) {
      text += piece.text;
      continue;
    }
    std::optional<int64_t> value = evalInteger(*piece.hole, "a number in a parameter path");
    if (!value)
      return std::nullopt;
    if (*value < 0)
      return fail(piece.hole->range,
                  fmt::format("a number in a parameter path cannot be negative, found {}", *value));
    text += fmt::to_string(*value);
  }
  return text;
}

std::optional<std::string> Elaborator::pathOf(const Call &call, SourceRange at) {
  if (call.path && call.path->isHere())
    return frame->path;
  if (call.path) {
    std::optional<std::string> path = expandPath(*call.path);
    return path ? std::optional(joined(frame->path, *path)) : std::nullopt;
  }
  std::string name = snakeCase(call.callee.name);
  int count = (*frame->callCounts)[name]++;
  return joined(frame->path, count == 0 ? name : fmt::format("{}_{}", name, count));
}

mlir::Value Elaborator::addParameter(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                                     mlir::Type element, const InitValue &init, SourceRange at) {
  auto [entry, isNew] = parameterRanges.try_emplace(name.str(), at);
  if (!isNew) {
    diagnostics
        .error(at,
               fmt::format(
                   "two parameters are named '{}'; give one of the calls another path with 'as'",
                   name.str()))
        .note(entry->second, "the other parameter");
    return {};
  }
  std::optional<InitValue> start = resolve(init, shape);
  if (!start) {
    fail(at, fmt::format("init.{} needs a parameter of rank 2 or more; '{}' has rank {}", init.kind,
                         name.str(), shape.size()));
    return {};
  }
  nn::Shape dims;
  for (int64_t extent : shape)
    dims.push_back(nn::constantDim(&context, extent));
  mlir::Location loc = locationOf(at);
  mlir::FailureOr<mlir::RankedTensorType> type = nn::tensorType(loc, dims, element);
  if (mlir::failed(type))
    return {};
  mlir::OpBuilder beforeFunction(function);
  nn::ParameterOp::create(
      beforeFunction, loc, builder.getStringAttr(name), mlir::TypeAttr::get(*type),
      nn::InitAttr::get(&context, start->kind, start->a, start->b), mlir::ElementsAttr());
  return nn::GetParameterOp::create(builder, loc, *type,
                                    mlir::FlatSymbolRefAttr::get(&context, name));
}

bool Elaborator::declareParameter(const ParamStatement &param, SourceRange at) {
  llvm::SmallVector<int64_t> shape;
  for (const ExprPtr &expr : param.type.dims) {
    std::optional<int64_t> extent = evalInteger(*expr, "a parameter's dimension");
    if (!extent)
      return false;
    if (*extent < 0) {
      fail(expr->range, fmt::format("a dimension cannot be negative, found {}", *extent));
      return false;
    }
    shape.push_back(*extent);
  }
  Result start = eval(*param.init);
  if (!start)
    return false;
  InitValue init;
  if (auto *given = start->as<InitValue>()) {
    init = *given;
  } else if (std::optional<double> number = start->number()) {
    init = {"constant", *number, 0};
  } else {
    fail(param.init->range,
         fmt::format("a parameter starts with an initialiser such as init.normal(0, 0.02) or a "
                     "number, found {}",
                     describe(*start)));
    return false;
  }
  std::string path = param.name.name;
  if (param.path) {
    if (param.path->isHere()) {
      fail(param.path->range, "a parameter needs a name of its own");
      return false;
    }
    std::optional<std::string> expanded = expandPath(*param.path);
    if (!expanded)
      return false;
    path = *expanded;
  }
  mlir::Value value = addParameter(joined(frame->path, path), shape,
                                   nn::elementType(&context, param.type.dtype), init, at);
  if (!value)
    return false;
  frame->variables[param.name.name] = value;
  return true;
}

Elaborator::Result Elaborator::callInit(const Call &call, SourceRange at) {
  std::string name = call.callee.name.substr(strlen("init."));
  std::vector<std::string> known;
  for (const InitKind &kind : initKinds) {
    known.emplace_back(kind.name);
    if (kind.name != name)
      continue;
    std::vector<Formal> formals;
    for (const auto &[argument, fallback] : kind.numbers)
      formals.push_back({std::string(argument), name == "constant"});
    auto matched = matchArguments(call, at, formals, {});
    if (!matched)
      return std::nullopt;
    double numbers[2] = {0, 0};
    for (size_t i = 0; i < formals.size(); ++i) {
      numbers[i] = kind.numbers[i].second;
      if (const Argument *argument = (*matched)[i]) {
        Result value = eval(*argument->value);
        if (!value)
          return std::nullopt;
        if (!value->number())
          return fail(argument->value->range,
                      fmt::format("argument '{}' of 'init.{}' must be a number, found {}",
                                  formals[i].name, name, describe(*value)));
        numbers[i] = *value->number();
      }
    }
    return NnValue(InitValue{name, numbers[0], numbers[1]});
  }
  return fail(call.callee.range,
              fmt::format("there is no initialiser 'init.{}'{}; known are {}", name,
                          suggestion(name, known), fmt::join(known, ", ")));
}

} // namespace nncc::frontend
