// Statements: of blocks, models and train sections, and the bodies that hold them.
#include "frontend/nn/ParserImpl.h"

#include <utility>

namespace nncc::frontend {

namespace {

/// What people coming from other languages write at the start of a line, and what to write here.
constexpr std::pair<std::string_view, std::string_view> foreignWords[] = {
    {"def", "a reusable part is 'block Name(x, ...) { ... }'"},
    {"fn", "a reusable part is 'block Name(x, ...) { ... }'"},
    {"func", "a reusable part is 'block Name(x, ...) { ... }'"},
    {"class",
     "the network is 'model Name(inputs) { ... }', a reusable part 'block Name(x, ...) { ... }'"},
    {"for", "write 'repeat i in 0..n - 1 { ... }'"},
    {"while", "write 'repeat i in 0..n - 1 { ... }'"},
    {"let", "write 'name = value'"},
    {"var", "write 'name = value'"},
};

} // namespace

std::string_view adviceFor(std::string_view word) {
  for (const auto &[foreign, advice] : foreignWords)
    if (foreign == word)
      return advice;
  return {};
}

bool Parser::parseBody(Body &body, BodyKind kind) {
  CountGuard guard(depth);
  SourceRange opened = peek().range;
  if (tooDeep(opened))
    return false;
  skipNewlines();
  if (!expect(TokenKind::LeftBrace, "'{'"))
    return false;
  Trivia opening;
  takeTrailing(opening);
  body.openComment = std::move(opening.trailing);
  carried = std::move(opening.leading); // from before the '{', which has no owner
  if (!parseStatements(body, kind))
    return false;
  bool returns =
      !body.statements.empty() && std::holds_alternative<Return>(body.statements.back().node);
  if (at(TokenKind::RightBrace) && !returns && (kind == BodyKind::Block || kind == BodyKind::Model))
    return fail(peek().range, fmt::format("this {} ends without 'return'",
                                          kind == BodyKind::Block ? "block" : "model"));
  return expectClosing(TokenKind::RightBrace, opened);
}

/// Up to the '}' or the end of the text.
bool Parser::parseStatements(Body &body, BodyKind kind) {
  while (true) {
    skipNewlines();
    if (at(TokenKind::RightBrace) || at(TokenKind::EndOfFile))
      break;
    if (!parseStatement(body, kind))
      return false;
  }
  body.dangling = takeDangling();
  return true;
}

bool Parser::parseTrainText(TrainDecl &train) {
  skipNewlines();
  if (atWord("train") && peek(1).kind == TokenKind::LeftBrace)
    return fail(peek().range.to(peek(1).range),
                "this is the train section already; write what stands between its braces");
  return parseStatements(train.body, BodyKind::Train) &&
         (at(TokenKind::EndOfFile) || unexpected("a statement such as 'loss = value'"));
}

bool Parser::parseStatement(Body &body, BodyKind kind) {
  bool afterReturn =
      !body.statements.empty() && std::holds_alternative<Return>(body.statements.back().node);
  if (afterReturn)
    return fail(peek().range, "nothing may follow 'return'");
  Statement statement;
  takeLeading(statement.trivia);
  SourceRange begin = peek().range;
  if (!parseStatementNode(statement, kind))
    return false;
  statement.range = begin.to(lastRange());
  takeTrailing(statement.trivia);
  body.statements.push_back(std::move(statement));
  return endStatement();
}

bool Parser::parseStatementNode(Statement &statement, BodyKind kind) {
  const Token &token = peek();
  switch (token.kind) {
  case TokenKind::KwReturn:
    if (kind == BodyKind::Nested)
      return fail(token.range,
                  "'return' stands at the end of a block or model, not inside repeat or if");
    if (kind == BodyKind::Train)
      return fail(token.range, "a train section returns nothing; the loss is 'loss = ...'");
    next();
    return parseReturn(statement.node.emplace<Return>());
  case TokenKind::KwRepeat:
    next();
    return parseRepeat(statement.node.emplace<Repeat>());
  case TokenKind::KwIf:
    next();
    return parseIf(statement.node.emplace<If>());
  case TokenKind::KwParam:
    if (kind == BodyKind::Train)
      return fail(token.range, "parameters are declared in the model or in a block");
    next();
    return parseParam(statement.node.emplace<ParamStatement>());
  default:
    break;
  }
  bool namedStatement = peek(1).kind == TokenKind::Identifier;
  if (kind == BodyKind::Train && namedStatement && atWord("target")) {
    next();
    auto &target = statement.node.emplace<Target>();
    return expectIdentifier(target.name, "the target's name") &&
           expect(TokenKind::Colon, "':' and the target's type, as in label: i64[N]") &&
           parseType(target.type);
  }
  if (kind == BodyKind::Train && namedStatement && atWord("metric")) {
    next();
    auto &metric = statement.node.emplace<Metric>();
    if (!expectIdentifier(metric.name, "the metric's name") ||
        !expect(TokenKind::Equal, "'=' and the metric's value"))
      return false;
    skipNewlines();
    metric.value = parseExpr();
    return metric.value != nullptr;
  }
  return parseAssign(statement);
}

bool Parser::parseAssign(Statement &statement) {
  SourceRange begin = peek().range;
  std::string_view advice = adviceFor(begin.text());
  if (at(TokenKind::Identifier) && !advice.empty() && peek(1).kind == TokenKind::Identifier)
    return fail(begin, fmt::format("unexpected '{}': {}", begin.text(), advice));

  size_t ahead = 0;
  while (peek(ahead).kind == TokenKind::Identifier && peek(ahead + 1).kind == TokenKind::Comma)
    ahead += 2;
  bool assigns =
      peek(ahead).kind == TokenKind::Identifier && peek(ahead + 1).kind == TokenKind::Equal;
  if (!assigns) {
    ExprPtr expr = parseExpr();
    if (!expr)
      return false;
    if (at(TokenKind::Equal) || at(TokenKind::Comma))
      return fail(expr->range, "only names can be assigned to: 'name = ...' or 'a, b = ...'");
    if (!at(TokenKind::Newline) && !at(TokenKind::RightBrace) && !at(TokenKind::EndOfFile))
      return unexpected("a statement such as 'name = value'");
    return fail(expr->range, "this value is not used; write 'name = ...' or remove it");
  }
  auto &assign = statement.node.emplace<Assign>();
  do {
    Identifier target;
    if (!expectIdentifier(target, "a name"))
      return false;
    assign.targets.push_back(std::move(target));
  } while (accept(TokenKind::Comma));
  next(); // '='
  skipNewlines();
  assign.value = parseExpr();
  return assign.value != nullptr;
}

bool Parser::parseReturn(Return &result) {
  do {
    if (!result.items.empty())
      skipNewlines(); // A comma at the end of a line continues the statement.
    ReturnItem item;
    if (at(TokenKind::Identifier) && peek(1).kind == TokenKind::Equal) {
      item.name.emplace();
      expectIdentifier(*item.name, "an output's name");
      next();
    }
    item.value = parseExpr();
    if (!item.value)
      return false;
    result.items.push_back(std::move(item));
  } while (accept(TokenKind::Comma));
  return true;
}

bool Parser::parseRepeat(Repeat &repeat) {
  if (at(TokenKind::Identifier) && peek(1).kind == TokenKind::KwIn) {
    repeat.index.emplace();
    expectIdentifier(*repeat.index, "the index");
    next();
    repeat.first = parseExpr();
    if (!repeat.first)
      return false;
    if (accept(TokenKind::DotDot)) {
      repeat.last = parseExpr();
      if (!repeat.last)
        return false;
    }
  } else {
    repeat.first = parseExpr();
    if (!repeat.first)
      return false;
    if (at(TokenKind::DotDot))
      return fail(peek().range, "a range needs an index: 'repeat i in 0..n - 1'");
  }
  return parseBody(repeat.body, BodyKind::Nested);
}

bool Parser::parseIf(If &branches) {
  do {
    If::Branch branch;
    branch.condition = parseExpr();
    if (!branch.condition || !parseBody(branch.body, BodyKind::Nested))
      return false;
    branches.branches.push_back(std::move(branch));
    if (at(TokenKind::Newline) && peek(1).kind == TokenKind::KwElse)
      next();
    if (!accept(TokenKind::KwElse))
      return true;
  } while (accept(TokenKind::KwIf));
  return parseBody(branches.otherwise.emplace(), BodyKind::Nested);
}

bool Parser::parseParam(ParamStatement &param) {
  if (!expectIdentifier(param.name, "the parameter's name") ||
      !expect(TokenKind::Colon, "':' and the parameter's type, as in f32[1, 64]") ||
      !parseType(param.type) ||
      !expect(TokenKind::Equal, "'=' and how the parameter starts, such as init.normal(0, 0.02)"))
    return false;
  skipNewlines();
  inParam = true;
  param.init = parseExpr();
  inParam = false;
  if (!param.init)
    return false;
  // `init.zeros() as name`: the path belongs to the parameter.
  if (auto *call = std::get_if<Call>(&param.init->node); call && call->path) {
    param.path = std::move(call->path);
    call->path.reset();
  } else if (at(TokenKind::KwAs)) {
    return parsePath(param.path.emplace());
  }
  return true;
}

bool Parser::endStatement() {
  if (at(TokenKind::RightBrace) || at(TokenKind::EndOfFile))
    return true;
  if (at(TokenKind::KwIf))
    return fail(peek().range,
                "no 'if' behind a value; write if condition { y = a } else { y = b }, "
                "and on tensors y = where(condition, a, b)");
  if (!at(TokenKind::Newline))
    return unexpected("the end of the line");
  next();
  return true;
}

} // namespace nncc::frontend
