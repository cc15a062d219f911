// Building, evaluating, printing and reading of SizeExpr. The compiler builds expressions from its
// affine shape expressions; the runtime evaluates them once per binding of the named dims; the text
// form is what Program JSON and reports show.
#include "runtime/SizeExpr.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace nncc::rt {

using Op = SizeExpr::Op;
using Term = SizeExpr::Term;

namespace {

/// Nesting that parse() follows before it gives up; generous for anything that shape arithmetic
/// produces.
constexpr int kMaxNesting = 500;

bool isBinary(Op op) { return op != Op::Constant && op != Op::Dim; }

CheckedSize apply(Op op, CheckedSize a, CheckedSize b) {
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::FloorDiv:
    return floorDiv(a, b);
  case Op::CeilDiv:
    return ceilDiv(a, b);
  case Op::Mod:
    return a - floorDiv(a, b) * b;
  case Op::Max:
  case Op::Min: {
    if (!a.valid() || !b.valid())
      return CheckedSize::invalid();
    int64_t left = a.getOr(0), right = b.getOr(0);
    return op == Op::Max ? std::max(left, right) : std::min(left, right);
  }
  case Op::Constant:
  case Op::Dim:
    break;
  }
  return CheckedSize::invalid();
}

// Binding strength in the text form. Operators written as function calls and the leaves never need
// parentheses.
int precedenceOf(Op op) {
  switch (op) {
  case Op::Add:
  case Op::Sub:
    return 1;
  case Op::Mul:
  case Op::FloorDiv:
  case Op::Mod:
    return 2;
  default:
    return 3;
  }
}

bool isIdentifier(std::string_view name) {
  auto isHead = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  auto isBody = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && isHead(name[0]) && std::all_of(name.begin(), name.end(), isBody);
}

class Parser {
public:
  Parser(std::string_view text, std::span<const std::string> dimNames)
      : text(text), dimNames(dimNames) {}

  std::optional<SizeExpr> parseAll() {
    std::optional<SizeExpr> result = parseSum(0);
    skipSpace();
    if (position != text.size())
      return std::nullopt;
    return result;
  }

private:
  void skipSpace() {
    while (position < text.size() && text[position] == ' ')
      ++position;
  }

  bool consume(std::string_view token) {
    skipSpace();
    if (text.substr(position, token.size()) != token)
      return false;
    position += token.size();
    return true;
  }

  std::optional<SizeExpr> parseSum(int depth) {
    std::optional<SizeExpr> left = parseProduct(depth);
    while (left) {
      bool isAdd = consume("+");
      if (!isAdd && !consume("-"))
        return left;
      std::optional<SizeExpr> right = parseProduct(depth);
      if (!right)
        return std::nullopt;
      left = SizeExpr::binary(isAdd ? Op::Add : Op::Sub, *left, *right);
    }
    return std::nullopt;
  }

  std::optional<SizeExpr> parseProduct(int depth) {
    std::optional<SizeExpr> left = parseLeaf(depth);
    while (left) {
      Op op;
      if (consume("*"))
        op = Op::Mul;
      else if (consume("//"))
        op = Op::FloorDiv;
      else if (consume("%"))
        op = Op::Mod;
      else
        return left;
      std::optional<SizeExpr> right = parseLeaf(depth);
      if (!right)
        return std::nullopt;
      left = SizeExpr::binary(op, *left, *right);
    }
    return std::nullopt;
  }

  std::optional<SizeExpr> parseLeaf(int depth) {
    if (depth > kMaxNesting)
      return std::nullopt;
    if (consume("(")) {
      std::optional<SizeExpr> inner = parseSum(depth + 1);
      return inner && consume(")") ? inner : std::nullopt;
    }
    if (consume("#")) {
      std::optional<int64_t> index = parseInteger();
      if (!index || *index < 0 || static_cast<uint64_t>(*index) >= dimNames.size())
        return std::nullopt;
      return SizeExpr::dim(*index);
    }
    skipSpace();
    if (position < text.size() &&
        (std::isdigit(static_cast<unsigned char>(text[position])) || text[position] == '-')) {
      std::optional<int64_t> value = parseInteger();
      return value ? std::optional<SizeExpr>(*value) : std::nullopt;
    }
    return parseName(depth);
  }

  std::optional<int64_t> parseInteger() {
    int64_t value = 0;
    const char *begin = text.data() + position;
    auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error != std::errc())
      return std::nullopt;
    position += static_cast<size_t>(end - begin);
    return value;
  }

  std::optional<SizeExpr> parseName(int depth) {
    size_t end = position;
    while (end < text.size() && isIdentifier(text.substr(position, end + 1 - position)))
      ++end;
    std::string_view name = text.substr(position, end - position);
    position = end;
    if (consume("("))
      return parseCall(name, depth);
    auto found = std::find(dimNames.begin(), dimNames.end(), name);
    if (name.empty() || found == dimNames.end())
      return std::nullopt;
    return SizeExpr::dim(found - dimNames.begin());
  }

  std::optional<SizeExpr> parseCall(std::string_view function, int depth) {
    Op op;
    if (function == "max")
      op = Op::Max;
    else if (function == "min")
      op = Op::Min;
    else if (function == "ceildiv")
      op = Op::CeilDiv;
    else
      return std::nullopt;
    std::optional<SizeExpr> left = parseSum(depth + 1);
    if (!left || !consume(","))
      return std::nullopt;
    std::optional<SizeExpr> right = parseSum(depth + 1);
    if (!right || !consume(")"))
      return std::nullopt;
    return SizeExpr::binary(op, *left, *right);
  }

  std::string_view text;
  std::span<const std::string> dimNames;
  size_t position = 0;
};

std::string_view spellingOf(Op op) {
  switch (op) {
  case Op::Add:
    return " + ";
  case Op::Sub:
    return " - ";
  case Op::Mul:
    return "*";
  case Op::FloorDiv:
    return "//";
  case Op::Mod:
    return "%";
  case Op::CeilDiv:
    return "ceildiv";
  case Op::Max:
    return "max";
  case Op::Min:
    return "min";
  case Op::Constant:
  case Op::Dim:
    break;
  }
  return "";
}

} // namespace

SizeExpr SizeExpr::dim(int64_t index) {
  SizeExpr result;
  result.terms = {{Op::Dim, index}};
  return result;
}

SizeExpr SizeExpr::binary(Op op, const SizeExpr &lhs, const SizeExpr &rhs) {
  if (lhs.isConstant() && rhs.isConstant())
    if (std::optional<int64_t> folded = apply(op, lhs.terms[0].value, rhs.terms[0].value).get())
      return SizeExpr(*folded);

  auto isValue = [](const SizeExpr &e, int64_t v) {
    return e.isConstant() && e.terms[0].value == v;
  };
  if ((op == Op::Add && isValue(lhs, 0)) || (op == Op::Mul && isValue(lhs, 1)))
    return rhs;
  if (((op == Op::Add || op == Op::Sub) && isValue(rhs, 0)) ||
      ((op == Op::Mul || op == Op::FloorDiv || op == Op::CeilDiv) && isValue(rhs, 1)))
    return lhs;
  // x*c1*c2 becomes x*(c1*c2), so that products of shapes stay short however they were built.
  if (op == Op::Mul && rhs.isConstant() && lhs.terms.size() >= 3 &&
      lhs.terms.back().op == Op::Mul && lhs.terms[lhs.terms.size() - 2].op == Op::Constant) {
    const Term &inner = lhs.terms[lhs.terms.size() - 2];
    if (std::optional<int64_t> product = apply(Op::Mul, inner.value, rhs.terms[0].value).get()) {
      SizeExpr result = lhs;
      result.terms[lhs.terms.size() - 2].value = *product;
      return result;
    }
  }
  if (op == Op::Mul && lhs.isConstant() && !rhs.isConstant())
    return binary(op, rhs, lhs);

  SizeExpr result = lhs;
  result.terms.insert(result.terms.end(), rhs.terms.begin(), rhs.terms.end());
  result.terms.push_back({op, 0});
  return result;
}

CheckedSize SizeExpr::evaluate(std::span<const int64_t> dims) const {
  if (isConstant())
    return terms[0].value;
  std::vector<CheckedSize> stack;
  stack.reserve(8);
  for (const Term &term : terms) {
    if (term.op == Op::Constant) {
      stack.push_back(term.value);
    } else if (term.op == Op::Dim) {
      if (term.value < 0 || static_cast<uint64_t>(term.value) >= dims.size())
        return CheckedSize::invalid();
      stack.push_back(dims[static_cast<size_t>(term.value)]);
    } else {
      if (stack.size() < 2)
        return CheckedSize::invalid();
      CheckedSize right = stack.back();
      stack.pop_back();
      stack.back() = apply(term.op, stack.back(), right);
    }
  }
  return stack.size() == 1 ? stack[0] : CheckedSize::invalid();
}

std::string SizeExpr::toString(std::span<const std::string> dimNames) const {
  struct Text {
    std::string text;
    int precedence;
  };
  std::vector<Text> stack;
  auto wrapped = [](const Text &operand, bool needed) {
    return needed ? "(" + operand.text + ")" : operand.text;
  };
  for (const Term &term : terms) {
    if (term.op == Op::Constant) {
      stack.push_back({std::to_string(term.value), 3});
      continue;
    }
    if (term.op == Op::Dim) {
      size_t index = static_cast<size_t>(term.value);
      bool named = index < dimNames.size() && isIdentifier(dimNames[index]);
      stack.push_back({named ? dimNames[index] : "#" + std::to_string(term.value), 3});
      continue;
    }
    if (stack.size() < 2)
      return "<malformed>";
    Text right = std::move(stack.back());
    stack.pop_back();
    Text &left = stack.back();
    int precedence = precedenceOf(term.op);
    std::string spelling(spellingOf(term.op));
    if (precedence == 3)
      left.text = spelling + "(" + left.text + ", " + right.text + ")";
    else // all infix operators associate to the left
      left.text = wrapped(left, left.precedence < precedence) + spelling +
                  wrapped(right, right.precedence <= precedence);
    left.precedence = precedence;
  }
  return stack.size() == 1 ? stack[0].text : "<malformed>";
}

std::optional<SizeExpr> SizeExpr::parse(std::string_view text,
                                        std::span<const std::string> dimNames) {
  return Parser(text, dimNames).parseAll();
}

bool SizeExpr::wellFormed(size_t dimCount) const {
  size_t depth = 0;
  for (const Term &term : terms) {
    if (isBinary(term.op)) {
      if (term.op > Op::Min || depth < 2)
        return false;
      --depth;
      continue;
    }
    if (term.op == Op::Dim && (term.value < 0 || static_cast<uint64_t>(term.value) >= dimCount))
      return false;
    ++depth;
  }
  return depth == 1;
}

} // namespace nncc::rt
