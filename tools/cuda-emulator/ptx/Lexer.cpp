// Splits a PTX text into tokens; see Lexer.h.
#include "tools/cuda-emulator/ptx/Lexer.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace nncc::cuemu::ptx {
namespace {

bool isNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

} // namespace

void Lexer::skipBlanks() {
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n') {
      line++;
      position++;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      position++;
    } else if (text.substr(position, 2) == "//") {
      while (position < text.size() && text[position] != '\n')
        position++;
    } else if (text.substr(position, 2) == "/*") {
      size_t end = text.find("*/", position + 2);
      if (end == std::string_view::npos)
        throw PtxError(line, "comment without end");
      for (; position < end + 2; position++)
        line += text[position] == '\n';
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skipBlanks();
  Token token;
  token.line = line;
  if (position >= text.size())
    return token;
  char c = text[position];
  char following = position + 1 < text.size() ? text[position + 1] : '\0';
  if (std::isdigit(static_cast<unsigned char>(c)))
    return number();
  if (c == '%' && isNameCharacter(following))
    return word(Token::Kind::Register);
  if (c == '.' && isNameCharacter(following))
    return word(Token::Kind::Directive);
  if (isNameCharacter(c))
    return word(Token::Kind::Word);
  if (c == '"') {
    size_t end = text.find('"', position + 1);
    if (end == std::string_view::npos)
      throw PtxError(line, "string without end");
    token.kind = Token::Kind::String;
    token.text = std::string(text.substr(position + 1, end - position - 1));
    position = end + 1;
    return token;
  }
  if (!std::strchr("{}[]()<>,;:@!|+-=*&", c) || c == '\0')
    throw PtxError(line, std::string("unexpected character '") + c + "'");
  token.kind = Token::Kind::Punctuation;
  token.text = std::string(1, c);
  position++;
  return token;
}

Token Lexer::word(Token::Kind kind) {
  Token token;
  token.kind = kind;
  token.line = line;
  size_t begin = position++;
  // `::` is part of a modifier: .shared::cta, .L2::128B. A label ends in a single colon.
  while (position < text.size()) {
    if (isNameCharacter(text[position]) || (text[position] == '.' && kind != Token::Kind::Directive)) {
      position++;
    } else if (text.substr(position, 2) == "::") {
      position += 2;
    } else {
      break;
    }
  }
  token.text = std::string(text.substr(begin, position - begin));
  return token;
}

Token Lexer::number() {
  Token token;
  token.line = line;
  size_t begin = position;
  while (position < text.size() && (isNameCharacter(text[position]) || text[position] == '.' ||
                                    ((text[position] == '-' || text[position] == '+') &&
                                     (text[position - 1] == 'e' || text[position - 1] == 'E') &&
                                     text.substr(begin, 2) != "0x")))
    position++;
  std::string digits(text.substr(begin, position - begin));
  token.text = digits;
  char *end = nullptr;
  errno = 0;
  char marker = digits.size() > 1 && digits[0] == '0' ? digits[1] : '\0';
  if (marker == 'f' || marker == 'F' || marker == 'd' || marker == 'D') {
    bool isSingle = marker == 'f' || marker == 'F';
    if (digits.size() != (isSingle ? 10u : 18u))
      throw PtxError(line, "malformed floating-point constant '" + digits + "'");
    token.kind = isSingle ? Token::Kind::Float32 : Token::Kind::Float64;
    token.integer = static_cast<int64_t>(std::strtoull(digits.c_str() + 2, &end, 16));
  } else if (digits.find('.') != std::string::npos) {
    token.kind = Token::Kind::Float64;
    double value = std::strtod(digits.c_str(), &end);
    std::memcpy(&token.integer, &value, sizeof(value));
  } else {
    token.kind = Token::Kind::Integer;
    if (digits.back() == 'U')
      digits.pop_back();
    bool isBinary = marker == 'b' || marker == 'B';
    token.integer = static_cast<int64_t>(
        std::strtoull(digits.c_str() + (isBinary ? 2 : 0), &end, isBinary ? 2 : 0));
  }
  if (errno != 0 || !end || *end != '\0')
    throw PtxError(line, "malformed number '" + digits + "'");
  return token;
}

} // namespace nncc::cuemu::ptx
