// The lexer of the .nn language: text to tokens and comments. Newlines end statements, so they are
// tokens, except inside round and square brackets; a parameter path after `as` is lexed in a mode
// of its own, in which `layer1.0.conv{i}` is text and holes. Comments are kept beside the tokens,
// each with its place in their order, for the printer.
#pragma once

#include "frontend/nn/Diagnostic.h"
#include "frontend/nn/Source.h"

#include <string>
#include <string_view>
#include <vector>

namespace nncc::frontend {

enum class TokenKind : uint8_t {
  EndOfFile,
  Newline,
  Identifier,
  Integer,
  Float,
  String,
  PathText,  // text of a parameter path, between `as` and its end or a hole
  PathOpen,  // '{' of a hole in a path
  PathClose, // '}' of a hole in a path
  // Punctuation.
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  LeftBrace,
  RightBrace,
  Comma,
  Colon,
  Dot,
  DotDot,
  Equal,
  // Operators.
  Plus,
  Minus,
  Star,
  StarStar,
  Slash,
  SlashSlash,
  Percent,
  At,
  EqualEqual,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  // Reserved words. The words that only open a declaration (model, block, ...) are ordinary
  // identifiers elsewhere.
  KwAnd,
  KwAs,
  KwElse,
  KwFalse,
  KwIf,
  KwIn,
  KwNone,
  KwNot,
  KwOr,
  KwParam,
  KwRepeat,
  KwReturn,
  KwTrue,
};

/// A token as it is named in error messages: "')'", "identifier", "end of line".
std::string_view describe(TokenKind kind);

/// The reserved words of the language, for the grammar test and for suggestions.
const std::vector<std::string> &reservedWords();

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  SourceRange range;
  uint32_t line = 1;
  /// At least one empty line stands between this token and what precedes it.
  bool blankBefore = false;
  /// How many of the file's comments stand before this token.
  uint32_t commentsBefore = 0;
};

struct Comment {
  SourceRange range;
  uint32_t line = 1;
  bool blankBefore = false;
};

struct TokenStream {
  std::vector<Token> tokens; // ends with EndOfFile
  std::vector<Comment> comments;
};

/// What ends a statement beside the end of its line.
enum class StatementEnd : uint8_t {
  Line,           ///< nothing, as in files
  LineOrSemicolon ///< `;`, in text that stands on a command line
};

/// Splits a file into tokens. At the first error reports it and returns false.
bool lex(const SourceFile &file, TokenStream &stream, Diagnostics &diagnostics,
         StatementEnd end = StatementEnd::Line);

/// The value of a string token, escapes resolved (the lexer has checked them).
std::string unescape(std::string_view literal);

/// A string as it is written in .nn text, with its quotes.
std::string escape(std::string_view value);

} // namespace nncc::frontend
