// The canonical form: parentheses, comments, empty lines, line breaks.
#include "SyntaxDump.h"

#include "frontend/nn/Printer.h"

#include <gtest/gtest.h>

namespace nncc::frontend {
namespace {

std::string printed(const std::string &text) {
  auto parsed = parseText(text);
  return parsed->file ? print(*parsed->file) : parsed->diagnostics.render();
}

std::string printedExpr(const std::string &text) {
  std::string out = printed("nn 1\nconst x = " + text + "\n");
  const std::string head = "nn 1\nconst x = ";
  return out.starts_with(head) ? out.substr(head.size(), out.size() - head.size() - 1) : out;
}

TEST(Printer, WritesOnlyNeededParentheses) {
  EXPECT_EQ(printedExpr("((1) + (2 * 3))"), "1 + 2 * 3");
  EXPECT_EQ(printedExpr("(1+2)*3"), "(1 + 2) * 3");
  EXPECT_EQ(printedExpr("1-(2-3)"), "1 - (2 - 3)");
  EXPECT_EQ(printedExpr("(1-2)-3"), "1 - 2 - 3");
  EXPECT_EQ(printedExpr("(a ** b) ** c"), "(a ** b) ** c");
  EXPECT_EQ(printedExpr("a ** (b ** c)"), "a ** b ** c");
  EXPECT_EQ(printedExpr("(-a) ** 2"), "(-a) ** 2");
  EXPECT_EQ(printedExpr("-(a ** 2)"), "-a ** 2");
  EXPECT_EQ(printedExpr("2 ** (-a)"), "2 ** -a");
  EXPECT_EQ(printedExpr("not (a and b)"), "not (a and b)");
  EXPECT_EQ(printedExpr("(a < b) == c"), "(a < b) == c");
  EXPECT_EQ(printedExpr("(a + b).shape[(0)]"), "(a + b).shape[0]");
  EXPECT_EQ(printedExpr("(-x)[0]"), "(-x)[0]");
}

TEST(Printer, KeepsTheSpellingOfNumbersAndStrings) {
  EXPECT_EQ(printedExpr("[1e-4, 1_000, .5, 2., \"a\\\"b\\n\"]"),
            "[1e-4, 1_000, .5, 2., \"a\\\"b\\n\"]");
}

TEST(Printer, KeepsCommentsAndEmptyLines) {
  const std::string text = "# head\n"
                           "\n"
                           "nn 1  # version\n"
                           "\n"
                           "# about a\n"
                           "const a = 1  # one\n"
                           "const b = 2\n"
                           "\n"
                           "# apart\n"
                           "\n"
                           "const c = 3\n"
                           "\n"
                           "block B(x) {  # opens\n"
                           "  # first\n"
                           "  y = x\n"
                           "\n"
                           "  # second\n"
                           "  repeat i in 0..3 {\n"
                           "    # only a comment\n"
                           "  }\n"
                           "  return y\n"
                           "  # after\n"
                           "}  # closes\n"
                           "\n"
                           "# end\n";
  EXPECT_EQ(printed(text), text);
}

TEST(Printer, NormalisesSpacing) {
  EXPECT_EQ(printed("\n\nnn   1\n\n\n\nconst a=1\nblock B( x,k=3 ){\n\n\n  y=f(x,k=k)as  c\n\n\n\n "
                    " return y }\n"
                    "model M(x:f32[N,  3]) { return x }"),
            "nn 1\n"
            "\n"
            "const a = 1\n"
            "\n"
            "block B(x, k = 3) {\n"
            "  y = f(x, k = k) as c\n"
            "\n"
            "  return y\n"
            "}\n"
            "\n"
            "model M(x: f32[N, 3]) {\n"
            "  return x\n"
            "}\n");
}

TEST(Printer, ATrailingCommaAsksForOneItemALine) {
  EXPECT_EQ(printedExpr("[1, 2,]"), "[\n  1,\n  2,\n]");
  EXPECT_EQ(printedExpr("f(a,) as b"), "f(\n  a,\n) as b");
  EXPECT_EQ(printedExpr("[\n1,\n2]"), "[1, 2]");
}

TEST(Printer, CommentsInListsStayWithTheirItems) {
  EXPECT_EQ(printedExpr("f(  # why\n  a,  # first\n  # about b\n  b\n  # last\n)"),
            "f(\n  # why\n  a,  # first\n  # about b\n  b,\n  # last\n)");
}

TEST(Printer, CommentsWithinExpressionsMoveInFront) {
  EXPECT_EQ(printed("nn 1\nconst a = (1 + # one\n 2) # two\n"),
            "nn 1\n# one\nconst a = 1 + 2  # two\n");
  EXPECT_EQ(printed("nn 1\nconst a = x[ # one\n 2]\n"), "nn 1\n# one\nconst a = x[2]\n");
  EXPECT_EQ(printed("nn 1\nblock B(x)\n# odd\n{ return x }\n"),
            "nn 1\n\nblock B(x) {\n  # odd\n  return x\n}\n");
}

TEST(Printer, BreaksLongCallsOutermostFirst) {
  const std::string a(30, 'a'), b(30, 'b'), c(30, 'c');
  EXPECT_EQ(printedExpr("f(" + a + ", " + b + ", " + c + ")"),
            "f(\n  " + a + ",\n  " + b + ",\n  " + c + ",\n)");
  EXPECT_EQ(printedExpr("relu(f(" + a + ", " + b + ", k = [" + c + "]))"),
            "relu(f(\n  " + a + ",\n  " + b + ",\n  k = [" + c + "],\n))");
  EXPECT_EQ(printedExpr(a + " + f(" + b + ", " + c + ")"),
            a + " + f(\n  " + b + ",\n  " + c + ",\n)");
}

TEST(Printer, FillsExactlyTheWidth) {
  // "const x = f(" and ")" leave 100 - 13 columns.
  const std::string fits(87, 'a');
  EXPECT_EQ(printedExpr("f(" + fits + ")"), "f(" + fits + ")");
  EXPECT_EQ(printedExpr("f(" + fits + "a)"), "f(\n  " + fits + "a,\n)");
}

} // namespace
} // namespace nncc::frontend
