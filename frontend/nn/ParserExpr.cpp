// Expressions, types and parameter paths. Binary operators are parsed by precedence climbing over
// one table (infoOf), which the printer shares, so that it writes exactly the parentheses that are
// needed.
#include "frontend/nn/ParserImpl.h"

#include "frontend/nn/Spelling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace nncc::frontend {

BinaryOpInfo infoOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return {"or", 1};
  case BinaryOp::And:
    return {"and", 2};
  case BinaryOp::Equal:
    return {"==", precedenceOfComparison};
  case BinaryOp::NotEqual:
    return {"!=", precedenceOfComparison};
  case BinaryOp::Less:
    return {"<", precedenceOfComparison};
  case BinaryOp::LessEqual:
    return {"<=", precedenceOfComparison};
  case BinaryOp::Greater:
    return {">", precedenceOfComparison};
  case BinaryOp::GreaterEqual:
    return {">=", precedenceOfComparison};
  case BinaryOp::Add:
    return {"+", 5};
  case BinaryOp::Subtract:
    return {"-", 5};
  case BinaryOp::Multiply:
    return {"*", 6};
  case BinaryOp::Divide:
    return {"/", 6};
  case BinaryOp::FloorDivide:
    return {"//", 6};
  case BinaryOp::Modulo:
    return {"%", 6};
  case BinaryOp::MatMul:
    return {"@", 6};
  case BinaryOp::Power:
    return {"**", precedenceOfPower};
  }
  return {"?", 0};
}

namespace {

std::optional<BinaryOp> binaryOpOf(TokenKind kind) {
  switch (kind) {
  case TokenKind::KwOr:
    return BinaryOp::Or;
  case TokenKind::KwAnd:
    return BinaryOp::And;
  case TokenKind::EqualEqual:
    return BinaryOp::Equal;
  case TokenKind::NotEqual:
    return BinaryOp::NotEqual;
  case TokenKind::Less:
    return BinaryOp::Less;
  case TokenKind::LessEqual:
    return BinaryOp::LessEqual;
  case TokenKind::Greater:
    return BinaryOp::Greater;
  case TokenKind::GreaterEqual:
    return BinaryOp::GreaterEqual;
  case TokenKind::Plus:
    return BinaryOp::Add;
  case TokenKind::Minus:
    return BinaryOp::Subtract;
  case TokenKind::Star:
    return BinaryOp::Multiply;
  case TokenKind::Slash:
    return BinaryOp::Divide;
  case TokenKind::SlashSlash:
    return BinaryOp::FloorDivide;
  case TokenKind::Percent:
    return BinaryOp::Modulo;
  case TokenKind::At:
    return BinaryOp::MatMul;
  case TokenKind::StarStar:
    return BinaryOp::Power;
  default:
    return std::nullopt;
  }
}

uint32_t heightOf(const ExprPtr &expr) { return expr ? expr->height : 0; }

/// Element types as other frameworks call them.
constexpr std::pair<std::string_view, std::string_view> foreignTypes[] = {
    {"float", "f32"},    {"float32", "f32"}, {"fp32", "f32"},      {"half", "f16"},
    {"float16", "f16"},  {"fp16", "f16"},    {"bfloat16", "bf16"}, {"double", "f64"},
    {"float64", "f64"},  {"int8", "i8"},     {"uint8", "u8"},      {"byte", "u8"},
    {"int", "i32"},      {"int32", "i32"},   {"long", "i64"},      {"int64", "i64"},
    {"boolean", "bool"}, {"i1", "bool"},
};

} // namespace

ExprPtr Parser::finish(SourceRange range, decltype(Expr::node) node,
                       std::initializer_list<const Expr *> children, uint32_t childHeight) {
  for (const Expr *child : children)
    if (child)
      childHeight = std::max(childHeight, child->height);
  if (childHeight >= maxNesting) {
    fail(range,
         fmt::format("more than {} operations in one expression; split it over several statements",
                     maxNesting));
    return nullptr;
  }
  return std::make_unique<Expr>(Expr{range, childHeight + 1, std::move(node)});
}

ExprPtr Parser::parseBinary(int minPrecedence) {
  CountGuard guard(depth);
  if (tooDeep(peek().range))
    return nullptr;
  ExprPtr lhs = parseUnary();
  while (lhs) {
    std::optional<BinaryOp> op = binaryOpOf(peek().kind);
    if (!op)
      break;
    int precedence = infoOf(*op).precedence;
    if (precedence < minPrecedence)
      break;
    SourceRange opRange = next().range;
    skipNewlines(); // An operator at the end of a line continues the statement.
    if (at(TokenKind::Equal)) {
      std::string_view mark = infoOf(*op).spelling;
      fail(opRange.to(peek().range),
           fmt::format("there is no '{0}='; write the name twice, as in x = x {0} y", mark));
      return nullptr;
    }
    ExprPtr rhs = parseBinary(*op == BinaryOp::Power ? precedence : precedence + 1);
    if (!rhs)
      return nullptr;
    SourceRange range = lhs->range.to(rhs->range);
    const Expr *left = lhs.get(), *right = rhs.get();
    lhs = finish(range, Binary{*op, std::move(lhs), std::move(rhs), opRange}, {left, right});
    std::optional<BinaryOp> following = binaryOpOf(peek().kind);
    if (lhs && precedence == precedenceOfComparison && following &&
        infoOf(*following).precedence == precedenceOfComparison) {
      fail(peek().range, "comparisons do not chain; write 'a < b and b < c'");
      return nullptr;
    }
  }
  return lhs;
}

ExprPtr Parser::parseUnary() {
  UnaryOp op = UnaryOp::Negate;
  int precedence = precedenceOfNegate;
  SourceRange begin = peek().range;
  if (at(TokenKind::KwNot)) {
    op = UnaryOp::Not;
    precedence = precedenceOfNot;
  } else if (at(TokenKind::Plus)) {
    fail(begin, "a leading '+' does nothing; remove it");
    return nullptr;
  } else if (!at(TokenKind::Minus)) {
    return parsePostfix();
  }
  next();
  ExprPtr operand = parseBinary(precedence);
  if (!operand)
    return nullptr;
  const Expr *child = operand.get();
  return finish(begin.to(child->range), Unary{op, std::move(operand)}, {child});
}

ExprPtr Parser::parsePostfix() {
  ExprPtr expr = parsePrimary();
  while (expr) {
    if (at(TokenKind::LeftParen)) {
      expr = parseCall(std::move(expr));
    } else if (at(TokenKind::LeftBracket)) {
      expr = parseSubscript(std::move(expr));
    } else if (accept(TokenKind::Dot)) {
      Identifier name;
      if (!expectIdentifier(name, "a name after '.'"))
        return nullptr;
      const Expr *base = expr.get();
      SourceRange range = base->range.to(name.range);
      expr = finish(range, Member{std::move(expr), std::move(name)}, {base});
    } else if (at(TokenKind::KwAs)) {
      auto *call = std::get_if<Call>(&expr->node);
      if (!call && inParam)
        break; // the path of the parameter itself
      if (!call) {
        fail(peek().range, "only a call has parameters to name with 'as'; put it right behind the "
                           "call's ')'");
        return nullptr;
      }
      if (call->path) {
        fail(peek().range, "this call has a path already");
        return nullptr;
      }
      call->path.emplace();
      if (!parsePath(*call->path))
        return nullptr;
      expr->range = expr->range.to(call->path->range);
    } else {
      break;
    }
  }
  return expr;
}

ExprPtr Parser::parsePrimary() {
  const Token &token = peek();
  switch (token.kind) {
  case TokenKind::Integer:
  case TokenKind::Float:
    return parseNumber();
  case TokenKind::String:
    next();
    return finish(token.range, StringLiteral{unescape(token.range.text())}, {});
  case TokenKind::KwTrue:
  case TokenKind::KwFalse:
    next();
    return finish(token.range, BoolLiteral{token.kind == TokenKind::KwTrue}, {});
  case TokenKind::KwNone:
    next();
    return finish(token.range, NoneLiteral{}, {});
  case TokenKind::Identifier:
    next();
    return finish(token.range, NameRef{std::string(token.range.text())}, {});
  case TokenKind::LeftParen: {
    next();
    ExprPtr inner = parseExpr();
    if (inner && at(TokenKind::Comma)) {
      fail(peek().range, "lists are written with square brackets: [a, b]");
      return nullptr;
    }
    if (!inner || !expectClosing(TokenKind::RightParen, token.range))
      return nullptr;
    return inner;
  }
  case TokenKind::LeftBracket: {
    next();
    ListLiteral list;
    uint32_t height = 0;
    auto parseItem = [&](ExprPtr &item) {
      item = parseExpr();
      height = std::max(height, heightOf(item));
      return item != nullptr;
    };
    if (!parseItems<ExprPtr>(list.items, TokenKind::RightBracket, parseItem) ||
        !expectClosing(TokenKind::RightBracket, token.range))
      return nullptr;
    return finish(token.range.to(lastRange()), std::move(list), {}, height);
  }
  default:
    unexpected("an expression");
    return nullptr;
  }
}

ExprPtr Parser::parseNumber() {
  const Token &token = next();
  std::string digits(token.range.text());
  std::string spelling = digits;
  std::erase(digits, '_');
  const char *end = digits.data() + digits.size();
  if (token.kind == TokenKind::Integer) {
    int64_t value = 0;
    if (std::from_chars(digits.data(), end, value).ec != std::errc()) {
      fail(token.range, "this integer does not fit 64 bits");
      return nullptr;
    }
    return finish(token.range, IntLiteral{value, std::move(spelling)}, {});
  }
  double value = 0;
  auto result = std::from_chars(digits.data(), end, value);
  // Underflow rounds to zero, as everywhere; only overflow is the author's mistake.
  if (result.ec == std::errc::result_out_of_range)
    value = std::strtod(digits.c_str(), nullptr);
  if (std::isinf(value)) {
    fail(token.range, "this number does not fit a double");
    return nullptr;
  }
  return finish(token.range, FloatLiteral{value, std::move(spelling)}, {});
}

ExprPtr Parser::parseCall(ExprPtr callee) {
  Call call;
  call.callee.range = callee->range;
  if (auto *name = std::get_if<NameRef>(&callee->node)) {
    call.callee.name = name->name;
  } else if (auto *member = std::get_if<Member>(&callee->node)) {
    auto *base = std::get_if<NameRef>(&member->base->node);
    if (base)
      call.callee.name = base->name + "." + member->name.name;
  }
  if (call.callee.name.empty()) {
    bool layer = std::holds_alternative<Call>(callee->node);
    fail(callee->range, layer ? "only a name can be called; an operation takes its input as the "
                                "first argument, as in linear(x, 64)"
                              : "only a name can be called");
    return nullptr;
  }
  SourceRange opened = next().range;
  uint32_t height = 0;
  auto parseArgument = [&](Argument &argument) {
    if (at(TokenKind::Identifier) && peek(1).kind == TokenKind::Equal) {
      argument.name.emplace();
      expectIdentifier(*argument.name, "an argument's name");
      next();
    }
    argument.value = parseExpr();
    height = std::max(height, heightOf(argument.value));
    return argument.value != nullptr;
  };
  if (!parseItems<Argument>(call.arguments, TokenKind::RightParen, parseArgument) ||
      !expectClosing(TokenKind::RightParen, opened))
    return nullptr;
  const Identifier *named = nullptr;
  for (const auto &entry : call.arguments.entries) {
    if (!entry.value.name && named) {
      fail(entry.value.value->range,
           fmt::format("positional argument after '{} = ...'; name it or move it forward",
                       named->name));
      return nullptr;
    }
    if (entry.value.name)
      named = &*entry.value.name;
  }
  return finish(callee->range.to(lastRange()), std::move(call), {}, height);
}

ExprPtr Parser::parseSubscript(ExprPtr base) {
  CountGuard onOneLine(inlineDepth);
  SourceRange opened = next().range;
  Subscript subscript;
  uint32_t height = base->height;
  do {
    if (at(TokenKind::RightBracket) && !subscript.items.empty())
      break; // trailing comma
    SubscriptItem item;
    if (!parseSubscriptItem(item))
      return nullptr;
    height = std::max({height, heightOf(item.start), heightOf(item.stop), heightOf(item.step)});
    subscript.items.push_back(std::move(item));
  } while (accept(TokenKind::Comma));
  if (!expectClosing(TokenKind::RightBracket, opened))
    return nullptr;
  SourceRange range = base->range.to(lastRange());
  subscript.base = std::move(base);
  return finish(range, std::move(subscript), {}, height);
}

bool Parser::parseSubscriptItem(SubscriptItem &item) {
  auto part = [&](ExprPtr &expr) {
    if (at(TokenKind::Colon) || at(TokenKind::Comma) || at(TokenKind::RightBracket))
      return true;
    expr = parseExpr();
    return expr != nullptr;
  };
  if (at(TokenKind::Comma) || at(TokenKind::RightBracket))
    return unexpected("an index or a slice");
  if (!part(item.start))
    return false;
  if (!accept(TokenKind::Colon))
    return true;
  item.isSlice = true;
  if (!part(item.stop))
    return false;
  return !accept(TokenKind::Colon) || part(item.step);
}

bool Parser::parseType(TypeExpr &type) {
  CountGuard onOneLine(inlineDepth);
  SourceRange begin = peek().range;
  Identifier name;
  if (!expectIdentifier(name, "an element type such as f32"))
    return false;
  std::optional<DType> dtype = dtypeNamed(name.name);
  if (!dtype) {
    std::vector<std::string> known;
    std::string list;
    for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
      known.emplace_back(nameOf(static_cast<DType>(i)));
      list += (i ? ", " : "") + known.back();
    }
    std::string hint = suggestion(name.name, known);
    for (const auto &[foreign, ours] : foreignTypes)
      if (name.name == foreign)
        hint = fmt::format("; did you mean '{}'?", ours);
    return fail(name.range, fmt::format("unknown element type '{}'{}", name.name,
                                        hint.empty() ? "; known are " + list : hint));
  }
  type.dtype = *dtype;
  if (at(TokenKind::LeftBracket)) {
    SourceRange opened = next().range;
    while (!at(TokenKind::RightBracket)) {
      ExprPtr dim = parseExpr();
      if (!dim)
        return false;
      type.dims.push_back(std::move(dim));
      if (!accept(TokenKind::Comma))
        break;
    }
    if (!expectClosing(TokenKind::RightBracket, opened))
      return false;
  }
  type.range = begin.to(lastRange());
  return true;
}

bool Parser::parsePath(Path &path) {
  CountGuard onOneLine(inlineDepth);
  next(); // 'as'
  if (!at(TokenKind::PathText) && !at(TokenKind::PathOpen))
    return unexpected("a parameter path such as conv1 or layer{i} after 'as'");
  path.range = peek().range;
  std::string sample; // the path with its holes filled, to check its form
  while (at(TokenKind::PathText) || at(TokenKind::PathOpen)) {
    if (at(TokenKind::PathText)) {
      sample += peek().range.text();
      path.pieces.push_back({std::string(next().range.text()), nullptr});
      continue;
    }
    next();
    ExprPtr hole = parseExpr();
    if (!hole)
      return false;
    if (!accept(TokenKind::PathClose))
      return unexpected("'}' after the expression in a parameter path");
    sample += '0';
    path.pieces.push_back({"", std::move(hole)});
  }
  path.range = path.range.to(lastRange());
  if (path.isHere())
    return true;
  if (sample.starts_with('.') || sample.ends_with('.') || sample.find("..") != std::string::npos)
    return fail(path.range, "a parameter path is names joined by single dots, or '.' alone");
  return true;
}

} // namespace nncc::frontend
