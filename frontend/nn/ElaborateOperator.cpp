// Operators: on numbers they compute now, exactly and checked; on dimensions they build expressions
// over named dims; with a tensor on either side they become nn ops.
#include "frontend/nn/Elaborator.h"

#include <fmt/format.h>

#include <cmath>

namespace nncc::frontend {

namespace {

/// The operation of the table that an operator on tensors stands for.
llvm::StringRef tensorOpOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return "logical_or";
  case BinaryOp::And:
    return "logical_and";
  case BinaryOp::Equal:
    return "equal";
  case BinaryOp::NotEqual:
    return "not_equal";
  case BinaryOp::Less:
    return "less";
  case BinaryOp::LessEqual:
    return "less_equal";
  case BinaryOp::Greater:
    return "greater";
  case BinaryOp::GreaterEqual:
    return "greater_equal";
  case BinaryOp::Add:
    return "add";
  case BinaryOp::Subtract:
    return "sub";
  case BinaryOp::Multiply:
    return "mul";
  case BinaryOp::Divide:
    return "div";
  case BinaryOp::Modulo:
    return "mod";
  case BinaryOp::MatMul:
    return "matmul";
  case BinaryOp::Power:
    return "pow";
  case BinaryOp::FloorDivide:
    return "";
  }
  return "";
}

bool isComparison(BinaryOp op) { return infoOf(op).precedence == precedenceOfComparison; }

template <typename T> bool compare(BinaryOp op, const T &lhs, const T &rhs) {
  switch (op) {
  case BinaryOp::Equal:
    return lhs == rhs;
  case BinaryOp::NotEqual:
    return lhs != rhs;
  case BinaryOp::Less:
    return lhs < rhs;
  case BinaryOp::LessEqual:
    return lhs <= rhs;
  case BinaryOp::Greater:
    return lhs > rhs;
  default:
    return lhs >= rhs;
  }
}

/// `base` to the power of a non-negative exponent.
CheckedSize power(int64_t base, int64_t exponent) {
  CheckedSize result = 1, square = base;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1)
      result *= square;
    if (exponent > 1)
      square *= square;
  }
  return result;
}

} // namespace

Elaborator::Result Elaborator::evalUnary(const Unary &unary, SourceRange at) {
  Result operand = eval(*unary.operand);
  if (!operand)
    return std::nullopt;
  if (operand->tensor())
    return applyOp(unary.op == UnaryOp::Negate ? "neg" : "logical_not", {{"x", *operand}}, at);
  if (unary.op == UnaryOp::Not) {
    if (auto *flag = operand->as<bool>())
      return NnValue(!*flag);
    return fail(at, fmt::format("'not' takes true or false, found {}", describe(*operand)));
  }
  if (auto *integer = operand->as<int64_t>()) {
    CheckedSize negated = CheckedSize(0) - *integer;
    if (!negated.valid())
      return fail(at, "this integer leaves 64 bits");
    return NnValue(*negated.get());
  }
  if (auto *real = operand->as<double>())
    return NnValue(-*real);
  return fail(at, fmt::format("'-' takes a number or a tensor, found {}", describe(*operand)));
}

Elaborator::Result Elaborator::evalBinary(const Binary &binary, SourceRange at) {
  Result lhs = eval(*binary.lhs);
  if (!lhs)
    return std::nullopt;
  bool isLogic = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
  if (auto *flag = lhs->as<bool>(); flag && isLogic) {
    // The right side is not looked at when the left decides.
    if (*flag == (binary.op == BinaryOp::Or))
      return lhs;
    Result rhs = eval(*binary.rhs);
    if (rhs && !rhs->as<bool>())
      return fail(binary.rhs->range, fmt::format("'{}' takes true or false on both sides, found {}",
                                                 infoOf(binary.op).spelling, describe(*rhs)));
    return rhs;
  }
  Result rhs = eval(*binary.rhs);
  if (!rhs)
    return std::nullopt;
  if (lhs->tensor() || rhs->tensor())
    return evalTensorBinary(binary, *lhs, *rhs, at);
  if (lhs->as<int64_t>() && rhs->as<int64_t>())
    return evalIntBinary(binary, *lhs->as<int64_t>(), *rhs->as<int64_t>(), at);
  if (lhs->number() && rhs->number())
    return evalFloatBinary(binary, *lhs->number(), *rhs->number(), at);
  if (nn::Dim left = lhs->dim(&context), right = rhs->dim(&context); left && right)
    return evalDimBinary(binary, left, right, at);
  if (binary.op == BinaryOp::Equal || binary.op == BinaryOp::NotEqual) {
    bool equal = lhs->value.index() == rhs->value.index();
    if (equal && lhs->as<std::string>())
      equal = *lhs->as<std::string>() == *rhs->as<std::string>();
    else if (equal && lhs->as<bool>())
      equal = *lhs->as<bool>() == *rhs->as<bool>();
    else if (equal && lhs->as<DType>())
      equal = *lhs->as<DType>() == *rhs->as<DType>();
    else if (!lhs->isNone() && !rhs->isNone())
      return fail(at, fmt::format("cannot compare {} and {}", describe(*lhs), describe(*rhs)));
    return NnValue(equal == (binary.op == BinaryOp::Equal));
  }
  return fail(at, fmt::format("'{}' does not take {} and {}", infoOf(binary.op).spelling,
                              describe(*lhs), describe(*rhs)));
}

Elaborator::Result Elaborator::evalTensorBinary(const Binary &binary, const NnValue &lhs,
                                                const NnValue &rhs, SourceRange at) {
  if ((binary.op == BinaryOp::Equal || binary.op == BinaryOp::NotEqual) &&
      (lhs.isNone() || rhs.isNone()))
    return NnValue(binary.op == BinaryOp::NotEqual);
  llvm::StringRef name = tensorOpOf(binary.op);
  if (name.empty())
    return fail(at, "'//' takes integers and dimensions; on tensors write floor(a / b)");
  for (const NnValue *side : {&lhs, &rhs})
    if (!side->tensor() && !side->number())
      return fail(at, fmt::format("'{}' on a tensor takes a tensor or a number, found {}",
                                  infoOf(binary.op).spelling, describe(*side)));
  if (binary.op == BinaryOp::Power && rhs.number() == 2.0)
    return applyOp("square", {{"x", lhs}}, at);
  return applyOp(name, {{"a", lhs}, {"b", rhs}}, at);
}

Elaborator::Result Elaborator::evalIntBinary(const Binary &binary, int64_t lhs, int64_t rhs,
                                             SourceRange at) {
  if (isComparison(binary.op))
    return NnValue(compare(binary.op, lhs, rhs));
  CheckedSize result;
  switch (binary.op) {
  case BinaryOp::Add:
    result = CheckedSize(lhs) + rhs;
    break;
  case BinaryOp::Subtract:
    result = CheckedSize(lhs) - rhs;
    break;
  case BinaryOp::Multiply:
    result = CheckedSize(lhs) * rhs;
    break;
  case BinaryOp::FloorDivide:
  case BinaryOp::Modulo:
    if (rhs == 0)
      return fail(binary.rhs->range, "division by zero");
    result = floorDiv(CheckedSize(lhs), CheckedSize(rhs));
    if (binary.op == BinaryOp::Modulo)
      result = CheckedSize(lhs) - result * rhs;
    break;
  case BinaryOp::Power:
    if (rhs < 0)
      return evalFloatBinary(binary, static_cast<double>(lhs), static_cast<double>(rhs), at);
    result = power(lhs, rhs);
    break;
  case BinaryOp::Divide:
    return evalFloatBinary(binary, static_cast<double>(lhs), static_cast<double>(rhs), at);
  default:
    return fail(at, fmt::format("'{}' does not take {} and {}", infoOf(binary.op).spelling,
                                describe(NnValue(lhs)), describe(NnValue(rhs))));
  }
  if (!result.valid())
    return fail(at, "this integer leaves 64 bits");
  return NnValue(*result.get());
}

Elaborator::Result Elaborator::evalFloatBinary(const Binary &binary, double lhs, double rhs,
                                               SourceRange at) {
  if (isComparison(binary.op))
    return NnValue(compare(binary.op, lhs, rhs));
  switch (binary.op) {
  case BinaryOp::Add:
    return NnValue(lhs + rhs);
  case BinaryOp::Subtract:
    return NnValue(lhs - rhs);
  case BinaryOp::Multiply:
    return NnValue(lhs * rhs);
  case BinaryOp::Power:
    return NnValue(std::pow(lhs, rhs));
  case BinaryOp::Divide:
  case BinaryOp::FloorDivide:
  case BinaryOp::Modulo:
    if (rhs == 0)
      return fail(binary.rhs->range, "division by zero");
    if (binary.op == BinaryOp::Divide)
      return NnValue(lhs / rhs);
    return NnValue(binary.op == BinaryOp::FloorDivide ? std::floor(lhs / rhs)
                                                      : lhs - rhs * std::floor(lhs / rhs));
  default:
    return fail(at, fmt::format("'{}' does not take {} and {}", infoOf(binary.op).spelling,
                                describe(NnValue(lhs)), describe(NnValue(rhs))));
  }
}

Elaborator::Result Elaborator::evalDimBinary(const Binary &binary, nn::Dim lhs, nn::Dim rhs,
                                             SourceRange at) {
  auto text = [&](nn::Dim dim) { return nn::toString(dim, &context); };
  auto bounded = [&](nn::Dim dim) -> Result {
    if (nn::isTooComplex(dim))
      return fail(at, "this dimension takes too many operations on named dims");
    return NnValue::ofDim(dim);
  };
  bool positiveConstant = nn::constantOf(rhs).value_or(0) > 0;
  switch (binary.op) {
  case BinaryOp::Add:
    return bounded(lhs + rhs);
  case BinaryOp::Subtract:
    return bounded(lhs - rhs);
  case BinaryOp::Multiply:
    return bounded(lhs * rhs);
  case BinaryOp::FloorDivide:
  case BinaryOp::Modulo:
    if (!positiveConstant)
      return fail(
          binary.rhs->range,
          fmt::format("a dimension can be divided by a positive integer, found {}", text(rhs)));
    return bounded(binary.op == BinaryOp::FloorDivide ? lhs.floorDiv(rhs) : lhs % rhs);
  case BinaryOp::Equal:
  case BinaryOp::NotEqual:
    if (lhs == rhs)
      return NnValue(binary.op == BinaryOp::Equal);
    break;
  case BinaryOp::Divide:
    return fail(at, fmt::format("{} / {} may not be an integer; write '//' for whole division",
                                text(lhs), text(rhs)));
  default:
    break;
  }
  if (isComparison(binary.op))
    return fail(at, fmt::format("{} {} {} is not known when the model is compiled", text(lhs),
                                infoOf(binary.op).spelling, text(rhs)));
  return fail(at, fmt::format("'{}' does not take dimensions", infoOf(binary.op).spelling));
}

} // namespace nncc::frontend
