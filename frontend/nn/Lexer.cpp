// Text to tokens and comments: tables of words and marks, and one pass over the bytes.
#include "frontend/nn/Lexer.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

namespace nncc::frontend {

namespace {

struct Word {
  std::string_view text;
  TokenKind kind;
};

constexpr Word keywords[] = {
    {"and", TokenKind::KwAnd},     {"as", TokenKind::KwAs},         {"else", TokenKind::KwElse},
    {"false", TokenKind::KwFalse}, {"if", TokenKind::KwIf},         {"in", TokenKind::KwIn},
    {"none", TokenKind::KwNone},   {"not", TokenKind::KwNot},       {"or", TokenKind::KwOr},
    {"param", TokenKind::KwParam}, {"repeat", TokenKind::KwRepeat}, {"return", TokenKind::KwReturn},
    {"true", TokenKind::KwTrue},
};

/// Longest first, so that the first match is the right one.
constexpr Word punctuation[] = {
    {"..", TokenKind::DotDot},       {"**", TokenKind::StarStar},    {"//", TokenKind::SlashSlash},
    {"==", TokenKind::EqualEqual},   {"!=", TokenKind::NotEqual},    {"<=", TokenKind::LessEqual},
    {">=", TokenKind::GreaterEqual}, {"(", TokenKind::LeftParen},    {")", TokenKind::RightParen},
    {"[", TokenKind::LeftBracket},   {"]", TokenKind::RightBracket}, {"{", TokenKind::LeftBrace},
    {"}", TokenKind::RightBrace},    {",", TokenKind::Comma},        {":", TokenKind::Colon},
    {".", TokenKind::Dot},           {"=", TokenKind::Equal},        {"+", TokenKind::Plus},
    {"-", TokenKind::Minus},         {"*", TokenKind::Star},         {"/", TokenKind::Slash},
    {"%", TokenKind::Percent},       {"@", TokenKind::At},           {"<", TokenKind::Less},
    {">", TokenKind::Greater},
};

/// What people coming from other languages write, and what to write here.
constexpr std::pair<std::string_view, std::string_view> foreign[] = {
    {";", "statements end at the end of the line; remove the ';'"},
    {"'", "strings are written with double quotes"},
    {"&", "write 'and'"},
    {"|", "write 'or'"},
    {"!", "write 'not'"},
};

/// Longest name: messages show names, and files and symbols are called after them.
constexpr size_t maxNameBytes = 255;

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordChar(char c) { return isLetter(c) || isDigit(c); }
bool isPathChar(char c) { return isWordChar(c) || c == '.'; }

std::optional<char> escapedChar(char c) {
  switch (c) {
  case '"':
  case '\\':
    return c;
  case 'n':
    return '\n';
  case 't':
    return '\t';
  default:
    return std::nullopt;
  }
}

class Lexer {
public:
  Lexer(const SourceFile &file, TokenStream &stream, Diagnostics &diagnostics, StatementEnd end)
      : file(file), text(file.text()), stream(stream), diagnostics(diagnostics),
        semicolonsEnd(end == StatementEnd::LineOrSemicolon) {}

  bool run();

private:
  char peek(size_t ahead = 0) const {
    return position + ahead < text.size() ? text[position + ahead] : '\0';
  }
  SourceRange range(size_t begin, size_t end) const {
    return {&file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  bool fail(size_t begin, size_t end, std::string message) {
    diagnostics.error(range(begin, end), std::move(message));
    return false;
  }
  bool blankSinceLast() {
    bool blank = line > lastLine + 1;
    lastLine = line;
    return blank;
  }
  void push(TokenKind kind, size_t begin);
  bool lexToken();
  void lexComment();
  void lexNewline();
  void endStatement();
  bool lexNumber();
  bool lexString();
  void lexPath();
  bool unexpectedCharacter();

  const SourceFile &file;
  std::string_view text;
  TokenStream &stream;
  Diagnostics &diagnostics;
  bool semicolonsEnd;
  size_t position = 0;
  uint32_t line = 1;
  uint32_t lastLine = 1;
  size_t bracketDepth = 0;
  /// Within a hole of a path; its '}' returns to the path.
  bool inHole = false;
};

void Lexer::push(TokenKind kind, size_t begin) {
  stream.tokens.push_back({kind, range(begin, position), line, blankSinceLast(),
                           static_cast<uint32_t>(stream.comments.size())});
}

bool Lexer::run() {
  if (text.starts_with("\xEF\xBB\xBF")) // A byte order mark, as some Windows editors write it.
    position = 3;
  while (position < text.size())
    if (!lexToken())
      return false;
  // The last line counts as ended even where the file does not end with a newline.
  if (!stream.tokens.empty() && stream.tokens.back().kind != TokenKind::Newline &&
      bracketDepth == 0)
    push(TokenKind::Newline, position);
  push(TokenKind::EndOfFile, position);
  return true;
}

bool Lexer::lexToken() {
  char c = peek();
  if (c == ' ' || c == '\t' || (c == '\r' && peek(1) == '\n')) {
    ++position;
    return true;
  }
  if (c == '\n') {
    lexNewline();
    return true;
  }
  if (c == ';' && semicolonsEnd && bracketDepth == 0) {
    endStatement();
    return true;
  }
  if (c == '#') {
    lexComment();
    return true;
  }
  if (isDigit(c) || (c == '.' && isDigit(peek(1))))
    return lexNumber();
  if (c == '"')
    return lexString();

  size_t begin = position;
  if (isLetter(c)) {
    while (isWordChar(peek()))
      ++position;
    std::string_view word = text.substr(begin, position - begin);
    if (word.size() > maxNameBytes)
      return fail(begin, position,
                  fmt::format("this name has {} characters; names have at most {}", word.size(),
                              maxNameBytes));
    for (const Word &keyword : keywords)
      if (keyword.text == word) {
        push(keyword.kind, begin);
        if (keyword.kind == TokenKind::KwAs)
          lexPath();
        return true;
      }
    push(TokenKind::Identifier, begin);
    return true;
  }
  for (const Word &mark : punctuation) {
    if (!text.substr(position).starts_with(mark.text))
      continue;
    position += mark.text.size();
    switch (mark.kind) {
    case TokenKind::LeftParen:
    case TokenKind::LeftBracket:
      ++bracketDepth;
      break;
    case TokenKind::RightParen:
    case TokenKind::RightBracket:
      bracketDepth -= bracketDepth > 0;
      break;
    case TokenKind::RightBrace:
      if (inHole) {
        inHole = false;
        push(TokenKind::PathClose, begin);
        lexPath();
        return true;
      }
      break;
    default:
      break;
    }
    push(mark.kind, begin);
    return true;
  }
  return unexpectedCharacter();
}

void Lexer::endStatement() {
  size_t begin = position++;
  // A line of its own without tokens ends no statement.
  bool endsStatement = !stream.tokens.empty() && stream.tokens.back().kind != TokenKind::Newline;
  if (bracketDepth == 0 && endsStatement)
    stream.tokens.push_back({TokenKind::Newline, range(begin, position), line, false,
                             static_cast<uint32_t>(stream.comments.size())});
  inHole = false;
}

void Lexer::lexNewline() {
  endStatement();
  ++line;
}

void Lexer::lexComment() {
  size_t begin = position;
  while (position < text.size() && peek() != '\n')
    ++position;
  size_t end = position;
  while (end > begin && (text[end - 1] == '\r' || text[end - 1] == ' ' || text[end - 1] == '\t'))
    --end;
  stream.comments.push_back({range(begin, end), line, blankSinceLast()});
}

bool Lexer::lexNumber() {
  size_t begin = position;
  bool isFloat = false;
  auto digits = [&] {
    while (isDigit(peek()) || (peek() == '_' && isDigit(peek(1))))
      ++position;
  };
  digits();
  // In `1..64` the dots are a range; in `x.0` they never reach this place.
  if (peek() == '.' && peek(1) != '.') {
    isFloat = true;
    ++position;
    digits();
  }
  if (peek() == 'e' || peek() == 'E') {
    size_t sign = peek(1) == '+' || peek(1) == '-';
    if (isDigit(peek(1 + sign))) {
      isFloat = true;
      position += 1 + sign;
      digits();
    }
  }
  if (isWordChar(peek())) {
    while (isWordChar(peek()))
      ++position;
    return fail(begin, position,
                fmt::format("'{}' is neither a number nor a name; names start with a letter",
                            text.substr(begin, position - begin)));
  }
  push(isFloat ? TokenKind::Float : TokenKind::Integer, begin);
  return true;
}

bool Lexer::lexString() {
  size_t begin = position++;
  while (peek() != '"') {
    if (position >= text.size() || peek() == '\n')
      return fail(begin, begin + 1, "this string has no closing '\"' on its line");
    if (static_cast<unsigned char>(peek()) < 0x20)
      return fail(position, position + 1, "control character in a string; write '\\t' for a tab");
    if (peek() == '\\') {
      if (!escapedChar(peek(1)))
        return fail(position, position + 2, "unknown escape; a string knows \\\" \\\\ \\n and \\t");
      ++position;
    }
    ++position;
  }
  ++position;
  push(TokenKind::String, begin);
  return true;
}

/// Called after `as` and after the '}' of a hole. The path goes on only where no space intervenes.
void Lexer::lexPath() {
  if (stream.tokens.back().kind == TokenKind::KwAs)
    while (peek() == ' ' || peek() == '\t')
      ++position;
  size_t begin = position;
  while (isPathChar(peek()))
    ++position;
  if (position > begin)
    push(TokenKind::PathText, begin);
  if (peek() == '{') {
    size_t open = position++;
    inHole = true;
    push(TokenKind::PathOpen, open);
  }
}

bool Lexer::unexpectedCharacter() {
  size_t begin = position;
  for (const auto &[character, advice] : foreign)
    if (text.substr(begin).starts_with(character))
      return fail(begin, begin + 1, fmt::format("unexpected '{}': {}", character, advice));
  unsigned char first = static_cast<unsigned char>(text[begin]);
  if (first < 0x80)
    return first == '\r'
               ? fail(begin, begin + 1, "unexpected carriage return; lines end with \\n or \\r\\n")
           : first < 0x20 || first == 0x7f
               ? fail(begin, begin + 1, fmt::format("unexpected control character 0x{:02x}", first))
               : fail(begin, begin + 1, fmt::format("unexpected '{}'", text[begin]));
  size_t end = begin + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    ++end;
  return fail(
      begin, end,
      fmt::format("unexpected '{}': only comments and strings hold characters outside ASCII",
                  text.substr(begin, end - begin)));
}

} // namespace

std::string_view describe(TokenKind kind) {
  switch (kind) {
  case TokenKind::EndOfFile:
    return "the end of the file";
  case TokenKind::Newline:
    return "the end of the line";
  case TokenKind::Identifier:
    return "a name";
  case TokenKind::Integer:
    return "an integer";
  case TokenKind::Float:
    return "a number";
  case TokenKind::String:
    return "a string";
  case TokenKind::PathText:
    return "a parameter path";
  case TokenKind::PathOpen:
    return "'{'";
  case TokenKind::PathClose:
    return "'}'";
  default:
    break;
  }
  // Quoted spellings, made once from the tables above.
  static const auto quoted = [] {
    std::array<std::string, static_cast<size_t>(TokenKind::KwTrue) + 1> result;
    for (const Word &word : keywords)
      result[static_cast<size_t>(word.kind)] = fmt::format("'{}'", word.text);
    for (const Word &word : punctuation)
      result[static_cast<size_t>(word.kind)] = fmt::format("'{}'", word.text);
    return result;
  }();
  return quoted[static_cast<size_t>(kind)];
}

const std::vector<std::string> &reservedWords() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> result;
    for (const Word &word : keywords)
      result.emplace_back(word.text);
    return result;
  }();
  return words;
}

bool lex(const SourceFile &file, TokenStream &stream, Diagnostics &diagnostics, StatementEnd end) {
  return Lexer(file, stream, diagnostics, end).run();
}

std::string unescape(std::string_view literal) {
  std::string value;
  for (size_t i = 1; i + 1 < literal.size(); ++i)
    value += literal[i] == '\\' ? escapedChar(literal[++i]).value_or('?') : literal[i];
  return value;
}

std::string escape(std::string_view value) {
  std::string literal = "\"";
  for (char c : value) {
    if (c == '\n' || c == '\t') {
      literal += c == '\n' ? "\\n" : "\\t";
      continue;
    }
    if (c == '"' || c == '\\')
      literal += '\\';
    literal += c;
  }
  return literal + "\"";
}

} // namespace nncc::frontend
