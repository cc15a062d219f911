// Declarations and comments.
//
// A comment belongs to the statement, declaration or list item that follows it on a later line, or
// to the one that it stands behind on the same line. The lexer numbers the comments; the parser
// takes them in order at the start and the end of every owner. What is left inside an owner (a
// comment between two operators, say) moves in front of it, so none is ever lost.
#include "frontend/nn/ParserImpl.h"

#include "frontend/nn/Spelling.h"

#include <algorithm>
#include <utility>

namespace nncc::frontend {

namespace {

const std::vector<std::string> declarationWords = {"import", "const", "dim",
                                                   "block",  "model", "train"};

} // namespace

// Tokens and errors ---------------------------------------------------------------------------

std::string Parser::describeFound() const {
  const Token &token = peek();
  if (token.kind == TokenKind::Identifier || token.kind == TokenKind::PathText)
    return fmt::format("'{}'", token.range.text());
  if (token.kind == TokenKind::Integer || token.kind == TokenKind::Float)
    return fmt::format("the number {}", token.range.text());
  return std::string(describe(token.kind));
}

bool Parser::unexpected(std::string_view expected) {
  std::string reserved;
  const std::vector<std::string> &words = reservedWords();
  if (std::find(words.begin(), words.end(), peek().range.text()) != words.end())
    reserved = " (a reserved word)";
  return fail(peek().range,
              fmt::format("expected {}, found {}{}", expected, describeFound(), reserved));
}

bool Parser::expect(TokenKind kind, std::string_view what) {
  return accept(kind) || unexpected(what);
}

bool Parser::expectClosing(TokenKind kind, SourceRange opened) {
  if (accept(kind))
    return true;
  std::string_view separator = kind == TokenKind::RightBrace ? "" : "',' or ";
  diagnostics
      .error(peek().range,
             fmt::format("expected {}{}, found {}", separator, describe(kind), describeFound()))
      .note(opened, "to close this");
  return false;
}

bool Parser::expectIdentifier(Identifier &identifier, std::string_view what) {
  if (!at(TokenKind::Identifier))
    return unexpected(what);
  const Token &token = next();
  identifier = {std::string(token.range.text()), token.range};
  return true;
}

// Comments ------------------------------------------------------------------------------------

void Parser::takeLeading(Trivia &trivia) {
  if (inlineDepth > 0)
    return;
  trivia.blankBefore = peek().blankBefore;
  trivia.leading = std::exchange(carried, {});
  for (size_t end = peek().commentsBefore; nextComment < end; ++nextComment)
    trivia.leading.push_back(
        {std::string(comments[nextComment].range.text()), comments[nextComment].blankBefore});
}

/// Called when the owner's last token is behind us.
void Parser::takeTrailing(Trivia &trivia) {
  if (inlineDepth > 0)
    return;
  size_t end = peek().commentsBefore;
  uint32_t lastOffset = lastRange().begin;
  for (; nextComment < end && comments[nextComment].range.begin < lastOffset; ++nextComment)
    trivia.leading.push_back({std::string(comments[nextComment].range.text()), false});
  if (nextComment < end && comments[nextComment].line == lastLine())
    trivia.trailing = comments[nextComment++].range.text();
}

std::vector<CommentLine> Parser::takeDangling() {
  Trivia trivia;
  takeLeading(trivia);
  return std::move(trivia.leading);
}

// Declarations --------------------------------------------------------------------------------

bool Parser::parseFile(File &file) {
  file.source = &source;
  if (!parseHeader(file))
    return false;
  while (true) {
    skipNewlines();
    if (at(TokenKind::EndOfFile))
      break;
    if (!parseDeclaration(file))
      return false;
  }
  file.dangling = takeDangling();
  return true;
}

bool Parser::parseHeader(File &file) {
  skipNewlines();
  takeLeading(file.header);
  if (!atWord("nn") || peek(1).kind != TokenKind::Integer)
    return fail(peek().range,
                fmt::format("a .nn file begins with the version of the language, 'nn {}'; "
                            "found {}",
                            languageVersion, describeFound()));
  next();
  const Token &version = next();
  if (version.range.text() != fmt::to_string(languageVersion))
    return fail(version.range, fmt::format("this nncc reads version {} of the language, not {}",
                                           languageVersion, version.range.text()));
  takeTrailing(file.header);
  return endStatement();
}

bool Parser::parseDeclaration(File &file) {
  Declaration declaration;
  takeLeading(declaration.trivia);
  SourceRange begin = peek().range;
  bool ok;
  if (!at(TokenKind::Identifier))
    return unexpected("a declaration (import, const, dim, block, model or train)");
  std::string_view word = begin.text();
  if (word == "import") {
    next();
    auto &import = declaration.node.emplace<Import>();
    import.pathRange = peek().range;
    ok = expect(TokenKind::String, "the imported file's name in double quotes");
    if (ok)
      import.path = unescape(import.pathRange.text());
  } else if (word == "const") {
    next();
    auto &constant = declaration.node.emplace<ConstDecl>();
    ok = expectIdentifier(constant.name, "the constant's name") &&
         expect(TokenKind::Equal, "'=' and the constant's value");
    if (ok) {
      skipNewlines();
      constant.value = parseExpr();
      ok = constant.value != nullptr;
    }
  } else if (word == "dim") {
    next();
    ok = parseDim(declaration.node.emplace<DimDecl>());
  } else if (word == "block") {
    next();
    ok = parseBlock(declaration.node.emplace<BlockDecl>());
  } else if (word == "model") {
    next();
    ok = parseModel(declaration.node.emplace<ModelDecl>());
  } else if (word == "train") {
    next();
    ok = parseBody(declaration.node.emplace<TrainDecl>().body, BodyKind::Train);
  } else {
    std::string_view advice = adviceFor(word);
    std::string hint = suggestion(word, declarationWords);
    if (!advice.empty())
      hint = fmt::format("; {}", advice);
    else if (peek(1).kind == TokenKind::Equal)
      hint = fmt::format("; a constant is written 'const {} = ...'", word);
    return fail(begin,
                fmt::format("expected a declaration (import, const, dim, block, model or train), "
                            "found '{}'{}",
                            word, hint));
  }
  if (!ok)
    return false;
  declaration.range = begin.to(lastRange());
  takeTrailing(declaration.trivia);
  file.declarations.push_back(std::move(declaration));
  return endStatement();
}

bool Parser::parseDim(DimDecl &dim) {
  if (!expectIdentifier(dim.name, "the dim's name") ||
      !expect(TokenKind::Equal, "'=' and the dim's range such as 1..64"))
    return false;
  dim.first = parseExpr();
  if (!dim.first || !expect(TokenKind::DotDot, "'..' in the dim's range, as in 1..64"))
    return false;
  if (at(TokenKind::Newline) || at(TokenKind::EndOfFile))
    return true;
  dim.last = parseExpr();
  return dim.last != nullptr;
}

bool Parser::parseBlock(BlockDecl &block) {
  if (!expectIdentifier(block.name, "the block's name"))
    return false;
  SourceRange opened = peek().range;
  if (!expect(TokenKind::LeftParen, "'(' and the block's parameters"))
    return false;
  auto parseParameter = [&](BlockParameter &parameter) {
    if (!expectIdentifier(parameter.name, "a parameter's name"))
      return false;
    if (at(TokenKind::Colon))
      return fail(peek().range,
                  "a block's parameters have no types; they take those of the arguments");
    if (!accept(TokenKind::Equal))
      return true;
    parameter.defaultValue = parseExpr();
    return parameter.defaultValue != nullptr;
  };
  if (!parseItems<BlockParameter>(block.parameters, TokenKind::RightParen, parseParameter) ||
      !expectClosing(TokenKind::RightParen, opened))
    return false;
  bool defaults = false;
  for (const auto &entry : block.parameters.entries) {
    if (defaults && !entry.value.defaultValue)
      return fail(entry.value.name.range,
                  fmt::format("parameter '{}' without a default follows one that has a default",
                              entry.value.name.name));
    defaults = entry.value.defaultValue != nullptr;
  }
  return parseBody(block.body, BodyKind::Block);
}

bool Parser::parseModel(ModelDecl &model) {
  if (!expectIdentifier(model.name, "the model's name"))
    return false;
  SourceRange opened = peek().range;
  if (!expect(TokenKind::LeftParen, "'(' and the model's inputs"))
    return false;
  auto parseInput = [&](ModelInput &input) {
    return expectIdentifier(input.name, "an input's name") &&
           expect(TokenKind::Colon, "':' and the input's type, as in image: f32[N, 3, 224, 224]") &&
           parseType(input.type);
  };
  if (!parseItems<ModelInput>(model.inputs, TokenKind::RightParen, parseInput) ||
      !expectClosing(TokenKind::RightParen, opened))
    return false;
  return parseBody(model.body, BodyKind::Model);
}

std::optional<File> parse(const SourceFile &source, Diagnostics &diagnostics) {
  TokenStream stream;
  File file;
  if (!lex(source, stream, diagnostics) || !Parser(source, stream, diagnostics).parseFile(file))
    return std::nullopt;
  return file;
}

std::optional<TrainDecl> parseTrain(const SourceFile &source, Diagnostics &diagnostics) {
  TokenStream stream;
  TrainDecl train;
  if (!lex(source, stream, diagnostics, StatementEnd::LineOrSemicolon) ||
      !Parser(source, stream, diagnostics).parseTrainText(train))
    return std::nullopt;
  return train;
}

} // namespace nncc::frontend
