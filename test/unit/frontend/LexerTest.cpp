// How text is split into tokens, and the lexer's errors with their places.
#include "frontend/nn/Lexer.h"

#include <gtest/gtest.h>

namespace nncc::frontend {
namespace {

struct Lexed {
  SourceManager sources;
  Diagnostics diagnostics;
  TokenStream stream;
  bool ok = false;
};

std::unique_ptr<Lexed> lexText(std::string text) {
  auto lexed = std::make_unique<Lexed>();
  const SourceFile *file = lexed->sources.add("l.nn", std::move(text), lexed->diagnostics);
  lexed->ok = file && lex(*file, lexed->stream, lexed->diagnostics);
  return lexed;
}

/// Token texts, newlines as "/", the path tokens marked, so that one line shows how a text was
/// split.
std::string split(std::string text) {
  auto lexed = lexText(std::move(text));
  if (!lexed->ok)
    return lexed->diagnostics.all().front().message;
  std::string out;
  for (const Token &token : lexed->stream.tokens) {
    if (token.kind == TokenKind::EndOfFile)
      break;
    out += out.empty() ? "" : " ";
    if (token.kind == TokenKind::Newline)
      out += "/";
    else if (token.kind == TokenKind::PathText)
      out += "<" + std::string(token.range.text()) + ">";
    else
      out += token.range.text();
  }
  return out;
}

std::string firstError(std::string text) {
  auto lexed = lexText(std::move(text));
  if (lexed->ok)
    return "no error";
  const Diagnostic &diagnostic = lexed->diagnostics.all().front();
  LineColumn at = diagnostic.range.start();
  return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + diagnostic.message;
}

TEST(Lexer, SplitsOperatorsByTheLongestMatch) {
  EXPECT_EQ(split("a**b*c//d/e==f=g<=h<i!=j..k.l"),
            "a ** b * c // d / e == f = g <= h < i != j .. k . l /");
}

TEST(Lexer, KeepsRangesApartFromFloats) {
  EXPECT_EQ(split("1..64"), "1 .. 64 /");
  EXPECT_EQ(split("1.5 .5 2. 1e-3 1_000"), "1.5 .5 2. 1e-3 1_000 /");
  auto lexed = lexText("1..64 2.5 3");
  EXPECT_EQ(lexed->stream.tokens[0].kind, TokenKind::Integer);
  EXPECT_EQ(lexed->stream.tokens[3].kind, TokenKind::Float);
  EXPECT_EQ(lexed->stream.tokens[4].kind, TokenKind::Integer);
}

TEST(Lexer, DropsNewlinesInBracketsAndRepeatedOnes) {
  EXPECT_EQ(split("\n\na(\n1,\n2\n)\n\n\nb [\n]\n"), "a ( 1 , 2 ) / b [ ] /");
  EXPECT_EQ(split("a\r\nb\r\n"), "a / b /");
}

TEST(Lexer, ReadsPathsAfterAs) {
  EXPECT_EQ(split("f(x) as layer1.0.conv1)"), "f ( x ) as <layer1.0.conv1> ) /");
  EXPECT_EQ(split("as a{i + 1}.b{j}c d"), "as <a> { i + 1 } <.b> { j } <c> d /");
  EXPECT_EQ(split("as {i} {"), "as { i } { /");
  EXPECT_EQ(split("as ."), "as <.> /");
}

TEST(Lexer, RemembersCommentsAndEmptyLines) {
  auto lexed = lexText("# one\n\na # two  \n# three\nb\n");
  ASSERT_EQ(lexed->stream.comments.size(), 3u);
  EXPECT_EQ(lexed->stream.comments[1].range.text(), "# two");
  EXPECT_EQ(lexed->stream.tokens[0].commentsBefore, 1u);
  EXPECT_TRUE(lexed->stream.tokens[0].blankBefore);
  EXPECT_EQ(lexed->stream.tokens[2].commentsBefore, 3u);
  EXPECT_FALSE(lexed->stream.tokens[2].blankBefore);
}

TEST(Lexer, ResolvesEscapes) {
  EXPECT_EQ(unescape(R"("a\"b\\c\n\t")"), "a\"b\\c\n\t");
  EXPECT_EQ(escape("a\"b\\c\n\t"), R"("a\"b\\c\n\t")");
}

TEST(Lexer, ReportsErrorsWithTheirPlace) {
  EXPECT_EQ(firstError("a\n  x = \"abc\n"), "2:7: this string has no closing '\"' on its line");
  EXPECT_EQ(firstError("\"a\\q\""), "1:3: unknown escape; a string knows \\\" \\\\ \\n and \\t");
  EXPECT_EQ(firstError("a; b"),
            "1:2: unexpected ';': statements end at the end of the line; remove the ';'");
  EXPECT_EQ(firstError("a = 'x'"), "1:5: unexpected ''': strings are written with double quotes");
  EXPECT_EQ(firstError("3x = 1"),
            "1:1: '3x' is neither a number nor a name; names start with a letter");
  EXPECT_EQ(firstError("x = 1.5f"),
            "1:5: '1.5f' is neither a number nor a name; names start with a letter");
  EXPECT_EQ(firstError("caf\xC3\xA9 = 1"),
            "1:4: unexpected '\xC3\xA9': only comments and strings hold characters outside ASCII");
  EXPECT_EQ(firstError(std::string("a\0b", 3)), "1:2: unexpected control character 0x00");
  EXPECT_EQ(firstError("a $"), "1:3: unexpected '$'");
}

} // namespace
} // namespace nncc::frontend
