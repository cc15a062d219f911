// Splits a PTX text into tokens with their lines; comments and blanks fall away. One token is looked at
// ahead, which PTX's grammar does not exceed.
#pragma once

#include "tools/cuda-emulator/ptx/Ast.h"

#include <string_view>

namespace nncc::cuemu::ptx {

struct Token {
  enum class Kind : uint8_t {
    Word,        ///< opcode, symbol, label; with embedded dots: ld.global.f32
    Directive,   ///< .reg
    Register,    ///< %r1, %tid.x
    Integer,
    Float32,     ///< 0f3F800000, bits in `integer`
    Float64,
    String,
    Punctuation, ///< one character in `text`
    End,
  };
  Kind kind = Kind::End;
  int line = 0;
  std::string text;
  int64_t integer = 0;

  bool is(const char *punctuation) const { return kind == Kind::Punctuation && text == punctuation; }
  bool isDirective(const char *name) const { return kind == Kind::Directive && text == name; }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  Token next();

private:
  void skipBlanks();
  Token number();
  Token word(Token::Kind kind);

  std::string_view text;
  size_t position = 0;
  int line = 1;
};

} // namespace nncc::cuemu::ptx
