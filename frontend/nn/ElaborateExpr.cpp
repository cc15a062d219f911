// Expressions other than operators and calls: literals, names, members, subscripts.
#include "frontend/nn/Elaborator.h"

#include "frontend/nn/Spelling.h"

#include <fmt/format.h>

#include <algorithm>

namespace nncc::frontend {

Elaborator::Result Elaborator::eval(const Expr &expr) {
  std::optional<Results> values = evalResults(expr);
  if (!values)
    return std::nullopt;
  if (values->size() != 1) {
    const auto &call = std::get<Call>(expr.node);
    const OpInfo *info = findOp(call.callee.name);
    std::string names = info ? fmt::format("{}", fmt::join(info->results(), ", ")) : "a, b";
    return fail(expr.range,
                fmt::format("'{}' gives {} values; assign them to names first: {} = {}(...)",
                            call.callee.name, values->size(), names, call.callee.name));
  }
  return values->front();
}

std::optional<Elaborator::Results> Elaborator::evalResults(const Expr &expr) {
  ++evalDepth;
  std::optional<Results> results = tooDeep(expr.range) ? std::optional<Results>() : evalNode(expr);
  --evalDepth;
  return results;
}

std::optional<Elaborator::Results> Elaborator::evalNode(const Expr &expr) {
  auto single = [](Result value) -> std::optional<Results> {
    if (!value)
      return std::nullopt;
    return Results{std::move(*value)};
  };
  if (auto *node = std::get_if<Call>(&expr.node))
    return evalCall(*node, expr.range);
  if (auto *node = std::get_if<NameRef>(&expr.node))
    return single(evalName(*node, expr.range));
  if (auto *node = std::get_if<IntLiteral>(&expr.node))
    return Results{node->value};
  if (auto *node = std::get_if<FloatLiteral>(&expr.node))
    return Results{node->value};
  if (auto *node = std::get_if<BoolLiteral>(&expr.node))
    return Results{node->value};
  if (auto *node = std::get_if<StringLiteral>(&expr.node))
    return Results{node->value};
  if (std::get_if<NoneLiteral>(&expr.node))
    return Results{NoneValue()};
  if (auto *node = std::get_if<ListLiteral>(&expr.node))
    return single(evalList(*node));
  if (auto *node = std::get_if<Member>(&expr.node))
    return single(evalMember(*node, expr.range));
  if (auto *node = std::get_if<Subscript>(&expr.node))
    return single(evalSubscript(*node, expr.range));
  if (auto *node = std::get_if<Unary>(&expr.node))
    return single(evalUnary(*node, expr.range));
  return single(evalBinary(std::get<Binary>(expr.node), expr.range));
}

Elaborator::Result Elaborator::evalName(const NameRef &name, SourceRange at) {
  if (auto it = frame->variables.find(name.name); it != frame->variables.end())
    return it->second;
  auto &known = constants[frame->scope];
  if (auto it = known.find(name.name); it != known.end())
    return it->second;
  if (std::optional<DType> dtype = dtypeNamed(name.name))
    return NnValue(*dtype);
  for (const UsedDim &dim : usedDims)
    if (dim.name == name.name) {
      std::optional<nn::Dim> value = namedDim(name, at);
      return value ? Result(NnValue::ofDim(*value)) : std::nullopt;
    }

  if (frame->scope->blocks.contains(name.name) || findOp(name.name))
    return fail(at, fmt::format("'{}' is called with parentheses: {}(...)", name.name, name.name));
  if (frame->scope->consts.contains(name.name))
    return fail(at,
                fmt::format("constant '{}' is used before its declaration; move it up", name.name));
  if (frame->scope->dims.contains(name.name))
    return fail(at,
                fmt::format("dim '{}' is not the dimension of any input of this model", name.name));
  std::vector<std::string> candidates;
  for (const auto &[variable, value] : frame->variables)
    candidates.push_back(variable);
  for (const auto &[constant, value] : known)
    candidates.push_back(constant);
  for (const UsedDim &dim : usedDims)
    candidates.push_back(dim.name);
  return fail(at, fmt::format("unknown name '{}'{}", name.name, suggestion(name.name, candidates)));
}

Elaborator::Result Elaborator::evalList(const ListLiteral &list) {
  std::vector<NnValue> items;
  for (const auto &entry : list.items.entries) {
    Result item = eval(*entry.value);
    if (!item)
      return std::nullopt;
    if (auto *inner = item->as<ListValue>(); inner && (*inner)->nesting() >= maxListNesting)
      return fail(entry.value->range,
                  fmt::format("lists are nested more than {} deep", maxListNesting));
    items.push_back(std::move(*item));
  }
  return NnValue::list(std::move(items));
}

Elaborator::Result Elaborator::evalMember(const Member &member, SourceRange at) {
  Result base = eval(*member.base);
  if (!base)
    return std::nullopt;
  static const std::vector<std::string> members = {"shape", "rank", "dtype"};
  if (!base->tensor())
    return fail(member.name.range, fmt::format("only tensors have members ({}), found {}",
                                               fmt::join(members, ", "), describe(*base)));
  mlir::RankedTensorType type = base->tensorType();
  if (member.name.name == "rank")
    return NnValue(type.getRank());
  if (member.name.name == "dtype")
    return NnValue(*nn::dtypeOf(type.getElementType()));
  if (member.name.name == "shape") {
    std::vector<NnValue> dims;
    for (nn::Dim dim : nn::shapeOf(type))
      dims.push_back(NnValue::ofDim(dim));
    return NnValue::list(std::move(dims));
  }
  return fail(member.name.range, fmt::format("a tensor has no member '{}'{}", member.name.name,
                                             suggestion(member.name.name, members)));
}

Elaborator::Result Elaborator::evalSubscript(const Subscript &subscript, SourceRange at) {
  Result base = eval(*subscript.base);
  if (!base)
    return std::nullopt;
  if (mlir::Value tensor = base->tensor())
    return indexTensor(tensor, subscript, at);
  auto *list = base->as<ListValue>();
  if (!list)
    return fail(subscript.base->range,
                fmt::format("only tensors and lists have elements, found {}", describe(*base)));
  if (subscript.items.size() != 1 || subscript.items[0].isSlice)
    return fail(at, "a list takes one index");
  std::optional<int64_t> index = evalInteger(*subscript.items[0].start, "an index");
  if (!index)
    return std::nullopt;
  int64_t size = static_cast<int64_t>((*list)->size());
  if (*index < -size || *index >= size)
    return fail(subscript.items[0].start->range,
                fmt::format("index {} is outside a list of {}", *index, size));
  return (**list)[*index < 0 ? *index + size : *index];
}

std::optional<int64_t> Elaborator::evalInteger(const Expr &expr, llvm::StringRef what) {
  Result value = eval(expr);
  if (!value)
    return std::nullopt;
  if (auto *integer = value->as<int64_t>())
    return *integer;
  return fail(expr.range,
              fmt::format("{} must be an integer, found {}", what.str(), describe(*value)));
}

std::optional<bool> Elaborator::evalCondition(const Expr &expr) {
  Result value = eval(expr);
  if (!value)
    return std::nullopt;
  if (auto *flag = value->as<bool>())
    return *flag;
  std::string advice =
      value->tensor() ? "; to choose between tensors element by element, use where(...)" : "";
  return fail(expr.range, fmt::format("a condition must be true or false, found {}{}",
                                      describe(*value), advice));
}

int64_t Elaborator::leastExtent(nn::Dim extent) const {
  if (std::optional<int64_t> constant = nn::constantOf(extent))
    return *constant;
  for (const UsedDim &dim : usedDims)
    if (extent == nn::namedDim(&context, dim.name))
      return dim.min;
  return 1;
}

/// An integer takes one position and drops the dimension; a slice takes a part of it by Python's
/// rules: negative bounds count from the end, and what lies outside is cut off. Of a named dim a
/// part has a fixed extent, so both bounds count from one end and lie within its least value.
std::optional<Elaborator::Part> Elaborator::partOf(mlir::RankedTensorType type, int64_t d,
                                                   const SubscriptItem &item, SourceRange at) {
  nn::Dim extent = nn::dimOf(type, d);
  std::optional<int64_t> length = nn::constantOf(extent);
  int64_t least = leastExtent(extent);
  auto bound = [&](const ExprPtr &expr, std::optional<int64_t> &value) {
    if (!expr)
      return true;
    value = evalInteger(*expr, "an index");
    return value.has_value();
  };
  std::optional<int64_t> first, last, step;
  if (!bound(item.start, first) || !bound(item.stop, last) || !bound(item.step, step))
    return std::nullopt;
  Part part;
  part.step = step.value_or(1);
  if (part.step < 1)
    return fail(item.step->range,
                fmt::format("a slice's step must be at least 1, found {}", part.step));
  if (!item.isSlice) {
    if (*first < -least || *first >= least)
      return fail(
          item.start->range,
          length
              ? fmt::format("index {} is outside dimension {} of {}", *first, d, nn::describe(type))
              : fmt::format("index {} may be outside dimension {} of {}, which can be "
                            "as small as {}; declare a range for its dim, as in dim {} "
                            "= {}..",
                            *first, d, nn::describe(type), least, nn::toString(extent, &context),
                            *first < 0 ? -(*first + 1) : *first + 1));
    part.start = *first;
    part.size = 1;
    part.dropped = true;
    return part;
  }
  if (first.value_or(0) == 0 && !last && part.step == 1)
    return Part();
  int64_t end;
  if (length) {
    auto clamp = [&](int64_t position) {
      return std::clamp<int64_t>(position < 0 ? position + *length : position, 0, *length);
    };
    part.start = clamp(first.value_or(0));
    end = clamp(last.value_or(*length));
  } else {
    part.start = first.value_or(0);
    end = last.value_or(0);
    bool fromFront = part.start >= 0 && last && end >= 0 && end <= least;
    bool fromBack = part.start < 0 && part.start >= -least && (!last || end < 0);
    if (!fromFront && !fromBack)
      return fail(
          at,
          fmt::format("this part of dimension {} of {} has no fixed extent within its least "
                      "value {}; declare the dim's range to begin at what [:n] or [-n:] takes, or "
                      "fix the dim with --dim",
                      d, nn::describe(type), least));
  }
  part.size = end > part.start ? (end - part.start - 1) / part.step + 1 : 0;
  if (part.size == 0)
    return fail(at,
                fmt::format("this slice of dimension {} of {} is empty", d, nn::describe(type)));
  return length && part.size == *length ? Part() : part;
}

/// Dimensions that are not mentioned stay whole.
Elaborator::Result Elaborator::indexTensor(mlir::Value tensor, const Subscript &subscript,
                                           SourceRange at) {
  auto type = mlir::cast<mlir::RankedTensorType>(tensor.getType());
  if (static_cast<int64_t>(subscript.items.size()) > type.getRank())
    return fail(at, fmt::format("{} indices for {}", subscript.items.size(), nn::describe(type)));
  std::vector<NnValue> starts, sizes, steps, kept;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    Part part;
    if (d < static_cast<int64_t>(subscript.items.size())) {
      std::optional<Part> taken = partOf(type, d, subscript.items[d], at);
      if (!taken)
        return std::nullopt;
      part = *taken;
    }
    starts.push_back(part.start);
    sizes.push_back(part.size);
    steps.push_back(part.step);
    if (!part.dropped)
      kept.push_back(part.size < 0 ? NnValue::ofDim(nn::dimOf(type, d)) : NnValue(part.size));
  }
  Result part = applyOp("slice",
                        {{"x", tensor},
                         {"starts", NnValue::list(starts)},
                         {"sizes", NnValue::list(sizes)},
                         {"steps", NnValue::list(steps)}},
                        at);
  if (!part || static_cast<int64_t>(kept.size()) == type.getRank())
    return part;
  return applyOp("reshape", {{"x", part->tensor()}, {"shape", NnValue::list(kept)}}, at);
}

} // namespace nncc::frontend
