// Statements: assignment, repeat, if. A body's statements run in order; `return` is left to whoever
// owns the body.
#include "frontend/nn/Elaborator.h"

#include <fmt/format.h>

namespace nncc::frontend {

bool Elaborator::body(const Body &body) {
  ++evalDepth;
  bool done = llvm::all_of(body.statements, [&](const Statement &statement) {
    return !tooDeep(statement.range) && this->statement(statement);
  });
  --evalDepth;
  return done;
}

bool Elaborator::statement(const Statement &statement) {
  if (!countStep(statement.range))
    return false;
  if (auto *assigned = std::get_if<Assign>(&statement.node))
    return assign(*assigned);
  if (auto *repeated = std::get_if<Repeat>(&statement.node))
    return repeat(*repeated, statement.range);
  if (auto *branches = std::get_if<If>(&statement.node))
    return branch(*branches);
  if (auto *param = std::get_if<ParamStatement>(&statement.node))
    return declareParameter(*param, statement.range);
  return true; // return, and the statements of a train section
}

bool Elaborator::assign(const Assign &assign) {
  std::optional<Results> values = evalResults(*assign.value);
  if (!values)
    return false;
  if (assign.targets.size() == 1 && values->size() == 1) {
    frame->variables[assign.targets[0].name] = values->front();
    return true;
  }
  // A list spreads over several names.
  if (values->size() == 1)
    if (auto *list = values->front().as<ListValue>()) {
      ListValue items = *list;
      values->assign(items->begin(), items->end());
    }
  if (values->size() != assign.targets.size()) {
    std::string advice;
    if (auto *call = std::get_if<Call>(&assign.value->node))
      if (const OpInfo *info = findOp(call->callee.name); info && !info->results().empty())
        advice =
            fmt::format("; write '{} = {}(...)'", fmt::join(info->results(), ", "), info->name());
    fail(assign.targets.front().range.to(assign.targets.back().range),
         fmt::format("{} on the left, but the right gives {} value{}{}",
                     assign.targets.size() == 1
                         ? "one name stands"
                         : fmt::format("{} names stand", assign.targets.size()),
                     values->size(), values->size() == 1 ? "" : "s", advice));
    return false;
  }
  for (size_t i = 0; i < values->size(); ++i)
    if (assign.targets[i].name != "_")
      frame->variables[assign.targets[i].name] = (*values)[i];
  return true;
}

bool Elaborator::repeat(const Repeat &repeat, SourceRange at) {
  std::vector<NnValue> indices;
  int64_t count = 0, first = 0;
  bool fromList = false;
  if (repeat.last || !repeat.index) {
    std::optional<int64_t> begin =
        evalInteger(*repeat.first, repeat.last ? "the start of a range" : "how often to repeat");
    if (!begin)
      return false;
    if (repeat.last) {
      std::optional<int64_t> end = evalInteger(*repeat.last, "the end of a range");
      if (!end)
        return false;
      first = *begin;
      CheckedSize length = CheckedSize(*end) - *begin + 1;
      count = length.getOr(INT64_MAX);
    } else {
      count = *begin;
      if (count < 0) {
        fail(repeat.first->range, fmt::format("cannot repeat {} times", count));
        return false;
      }
    }
  } else {
    Result list = eval(*repeat.first);
    if (!list)
      return false;
    auto *items = list->as<ListValue>();
    if (!items) {
      fail(repeat.first->range,
           fmt::format("repeat goes over a list or a range such as 0..2, found {}",
                       describe(*list)));
      return false;
    }
    indices = (*items)->elements();
    count = static_cast<int64_t>(indices.size());
    fromList = true;
  }

  std::optional<NnValue> shadowed;
  if (repeat.index && frame->variables.contains(repeat.index->name))
    shadowed = frame->variables[repeat.index->name];
  for (int64_t i = 0; i < count; ++i) {
    if (!countStep(at))
      return false;
    if (repeat.index)
      frame->variables[repeat.index->name] = fromList ? indices[i] : NnValue(first + i);
    if (!body(repeat.body))
      return false;
  }
  // The index belongs to the repeat alone.
  if (repeat.index) {
    if (shadowed)
      frame->variables[repeat.index->name] = *shadowed;
    else
      frame->variables.erase(repeat.index->name);
  }
  return true;
}

bool Elaborator::branch(const If &branches) {
  for (const If::Branch &branch : branches.branches) {
    std::optional<bool> holds = evalCondition(*branch.condition);
    if (!holds)
      return false;
    if (*holds)
      return body(branch.body);
  }
  return !branches.otherwise || body(*branches.otherwise);
}

} // namespace nncc::frontend
