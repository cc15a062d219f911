// The parser's class, shared by the files that implement it: Parser.cpp (declarations),
// ParserStatement.cpp (statements) and ParserExpr.cpp (expressions, types, parameter paths,
// bracketed lists). Every parse function returns false, or null, after it reported an error.
#pragma once

#include "frontend/nn/Lexer.h"
#include "frontend/nn/Parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace nncc::frontend {

/// What to write instead of a word that people coming from other languages begin a line with;
/// empty for any other word.
std::string_view adviceFor(std::string_view word);

class Parser {
public:
  Parser(const SourceFile &source, const TokenStream &stream, Diagnostics &diagnostics)
      : source(source), tokens(stream.tokens), comments(stream.comments), diagnostics(diagnostics) {
  }

  bool parseFile(File &file);
  bool parseTrainText(TrainDecl &train);

private:
  enum class BodyKind { Block, Model, Nested, Train };

  // Tokens.
  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(position + ahead, tokens.size() - 1)];
  }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool atWord(std::string_view word, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::Identifier && peek(ahead).range.text() == word;
  }
  const Token &next() { return tokens[position < tokens.size() - 1 ? position++ : position]; }
  bool accept(TokenKind kind) {
    if (!at(kind))
      return false;
    next();
    return true;
  }
  bool expect(TokenKind kind, std::string_view what);
  bool expectClosing(TokenKind kind, SourceRange opened);
  bool expectIdentifier(Identifier &identifier, std::string_view what);
  void skipNewlines() {
    while (accept(TokenKind::Newline)) {
    }
  }
  SourceRange lastRange() const { return tokens[position == 0 ? 0 : position - 1].range; }
  uint32_t lastLine() const { return tokens[position == 0 ? 0 : position - 1].line; }

  // Errors.
  bool fail(SourceRange at, std::string message) {
    diagnostics.error(at, std::move(message));
    return false;
  }
  bool unexpected(std::string_view expected);
  std::string describeFound() const;

  // Comments (Parser.cpp explains how they find their owners).
  void takeLeading(Trivia &trivia);
  void takeTrailing(Trivia &trivia);
  std::vector<CommentLine> takeDangling();

  // Expressions, types and paths (ParserExpr.cpp).
  ExprPtr parseExpr() { return parseBinary(0); }
  ExprPtr parseBinary(int minPrecedence);
  ExprPtr parseUnary();
  ExprPtr parsePostfix();
  ExprPtr parsePrimary();
  ExprPtr parseNumber();
  ExprPtr parseCall(ExprPtr callee);
  ExprPtr parseSubscript(ExprPtr base);
  bool parseSubscriptItem(SubscriptItem &item);
  bool parseType(TypeExpr &type);
  bool parsePath(Path &path);
  ExprPtr finish(SourceRange range, decltype(Expr::node) node,
                 std::initializer_list<const Expr *> children, uint32_t childHeight = 0);
  template <typename T>
  bool parseItems(ItemList<T> &list, TokenKind close, const std::function<bool(T &)> &parseItem);

  // Declarations (Parser.cpp).
  bool parseDeclaration(File &file);
  bool parseHeader(File &file);
  bool parseBlock(BlockDecl &block);
  bool parseModel(ModelDecl &model);
  bool parseDim(DimDecl &dim);

  // Statements (ParserStatement.cpp).
  bool parseBody(Body &body, BodyKind kind);
  bool parseStatements(Body &body, BodyKind kind);
  bool parseStatement(Body &body, BodyKind kind);
  bool parseStatementNode(Statement &statement, BodyKind kind);
  bool parseAssign(Statement &statement);
  bool parseReturn(Return &result);
  bool parseRepeat(Repeat &repeat);
  bool parseIf(If &branches);
  bool parseParam(ParamStatement &param);
  bool endStatement();

  const SourceFile &source;
  const std::vector<Token> &tokens;
  const std::vector<Comment> &comments;
  Diagnostics &diagnostics;
  size_t position = 0;
  size_t nextComment = 0;
  std::vector<CommentLine> carried; // comments that the next owner takes over
  uint32_t depth = 0;
  /// Above zero inside what is always printed on one line (types, subscripts, paths): comments
  /// there go to the statement.
  uint32_t inlineDepth = 0;
  /// In the initialiser of a `param`, which may be a number with a path behind it.
  bool inParam = false;

  /// Counts nesting while it lives.
  struct CountGuard {
    explicit CountGuard(uint32_t &count) : count(count) { ++count; }
    ~CountGuard() { --count; }
    uint32_t &count;
  };
  bool tooDeep(SourceRange at) {
    if (depth <= maxNesting)
      return false;
    fail(at,
         fmt::format("nested more than {} deep; split this over several statements", maxNesting));
    return true;
  }
};

/// Parses `item, item, ... close`, the opening bracket being behind us, and leaves `close` to the
/// caller.
template <typename T>
bool Parser::parseItems(ItemList<T> &list, TokenKind close,
                        const std::function<bool(T &)> &parseItem) {
  while (!at(close)) {
    typename ItemList<T>::Entry entry;
    takeLeading(entry.trivia);
    if (!parseItem(entry.value))
      return false;
    takeTrailing(entry.trivia);
    bool comma = accept(TokenKind::Comma);
    if (comma && entry.trivia.trailing.empty())
      takeTrailing(entry.trivia);
    list.entries.push_back(std::move(entry));
    list.trailingComma = comma && at(close);
    if (!comma)
      break;
  }
  list.dangling = takeDangling();
  return true;
}

} // namespace nncc::frontend
