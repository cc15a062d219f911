// Conversions and descriptions of the language's values.
#include "frontend/nn/NnValue.h"

#include "frontend/nn/Lexer.h"

#include <fmt/format.h>

#include <algorithm>

namespace nncc::frontend {

NnList::NnList(std::vector<NnValue> elements) : items(std::move(elements)) {
  for (const NnValue &item : items)
    if (auto *inner = item.as<ListValue>())
      depth = std::max(depth, (*inner)->nesting() + 1);
}

std::optional<double> NnValue::number() const {
  if (auto *integer = as<int64_t>())
    return static_cast<double>(*integer);
  if (auto *real = as<double>())
    return *real;
  return std::nullopt;
}

nn::Dim NnValue::dim(mlir::MLIRContext *context) const {
  if (auto *integer = as<int64_t>())
    return nn::constantDim(context, *integer);
  if (auto *dim = as<nn::Dim>())
    return *dim;
  return {};
}

NnValue NnValue::ofDim(nn::Dim dim) {
  if (std::optional<int64_t> constant = nn::constantOf(dim))
    return *constant;
  return dim;
}

NnValue NnValue::list(std::vector<NnValue> items) {
  return ListValue(std::make_shared<const NnList>(std::move(items)));
}

namespace {

struct Description {
  std::string operator()(const NoneValue &) { return "none"; }
  std::string operator()(bool value) { return value ? "true" : "false"; }
  std::string operator()(int64_t value) { return fmt::format("the integer {}", value); }
  std::string operator()(double value) { return fmt::format("the number {}", value); }
  std::string operator()(const std::string &value) {
    constexpr size_t shown = 60;
    return value.size() <= shown ? "the string " + escape(value)
                                 : fmt::format("a string of {} bytes", value.size());
  }
  std::string operator()(const nn::Dim &value) {
    return fmt::format("the dimension {}", nn::toString(value, value.getContext()));
  }
  std::string operator()(DType value) { return fmt::format("the element type {}", nameOf(value)); }
  std::string operator()(const InitValue &value) { return "the initialiser init." + value.kind; }
  std::string operator()(const ListValue &value) {
    return fmt::format("a list of {}", value->size());
  }
  std::string operator()(const mlir::Value &value) {
    return fmt::format("the tensor {}", nn::describe(value.getType()));
  }
};

} // namespace

std::string describe(const NnValue &value) { return std::visit(Description(), value.value); }

} // namespace nncc::frontend
