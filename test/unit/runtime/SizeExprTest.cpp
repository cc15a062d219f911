// SizeExpr: evaluation against hand calculation, overflow, the text form and its reading back.
#include "runtime/SizeExpr.h"

#include <gtest/gtest.h>

#include <random>

using nncc::rt::SizeExpr;
using Op = SizeExpr::Op;

namespace {

const std::vector<std::string> kNames = {"N", "T"};

SizeExpr n() { return SizeExpr::dim(0); }
SizeExpr t() { return SizeExpr::dim(1); }

std::optional<int64_t> valueOf(const SizeExpr &expr, int64_t N, int64_t T) {
  int64_t dims[] = {N, T};
  return expr.evaluate(dims).get();
}

} // namespace

TEST(SizeExpr, EvaluatesEachOperator) {
  EXPECT_EQ(valueOf(n() * 16 + t(), 3, 5), 53);
  EXPECT_EQ(valueOf(n() - t(), 3, 5), -2);
  EXPECT_EQ(valueOf(SizeExpr::binary(Op::FloorDiv, n(), 2), 7, 0), 3);
  EXPECT_EQ(valueOf(SizeExpr::binary(Op::CeilDiv, n(), 2), 7, 0), 4);
  EXPECT_EQ(valueOf(SizeExpr::binary(Op::Mod, n(), 4), 7, 0), 3);
  EXPECT_EQ(valueOf(SizeExpr::binary(Op::Mod, n(), 4), -1, 0), 3);
  EXPECT_EQ(valueOf(SizeExpr::binary(Op::Max, n(), t()), 3, 5), 5);
  EXPECT_EQ(valueOf(SizeExpr::binary(Op::Min, n(), t()), 3, 5), 3);
}

TEST(SizeExpr, ReportsOverflowDivisionByZeroAndMissingDims) {
  EXPECT_EQ(valueOf(n() * INT64_MAX, 2, 0), std::nullopt);
  EXPECT_EQ(valueOf(SizeExpr::binary(Op::FloorDiv, n(), t()), 2, 0), std::nullopt);
  EXPECT_EQ(valueOf(SizeExpr::dim(2), 1, 1), std::nullopt);
  EXPECT_EQ(valueOf(SizeExpr::dim(-1), 1, 1), std::nullopt);
}

TEST(SizeExpr, FoldsConstantsButNotOverflow) {
  EXPECT_TRUE((SizeExpr(6) * 7).isConstant());
  EXPECT_FALSE((SizeExpr(INT64_MAX) * 2).isConstant());
  EXPECT_EQ((SizeExpr(INT64_MAX) * 2).evaluate({}).get(), std::nullopt);
  EXPECT_EQ(n() * 16 * 28 * 28 * 4, n() * 50176);
  EXPECT_EQ(SizeExpr(4) * n(), n() * 4);
  EXPECT_EQ(n() + 0, n());
  EXPECT_EQ(n() * 1, n());
}

TEST(SizeExpr, PrintsWithTheFewestParentheses) {
  EXPECT_EQ((n() * 16 + t()).toString(kNames), "N*16 + T");
  EXPECT_EQ(((n() + t()) * 16).toString(kNames), "(N + T)*16");
  EXPECT_EQ((n() - (t() - 1)).toString(kNames), "N - (T - 1)");
  EXPECT_EQ((n() - t() - 1).toString(kNames), "N - T - 1");
  EXPECT_EQ(SizeExpr::binary(Op::CeilDiv, n() + 1, 2).toString(kNames), "ceildiv(N + 1, 2)");
  EXPECT_EQ(SizeExpr(-3).toString(kNames), "-3");
}

TEST(SizeExpr, WritesDimsWithoutAnIdentifierByIndex) {
  std::vector<std::string> names = {"batch-size", "max"};
  SizeExpr expr = n() * t();
  EXPECT_EQ(expr.toString(names), "#0*max");
  EXPECT_EQ(SizeExpr::parse("#0*max", names), expr);
}

TEST(SizeExpr, RefusesMalformedText) {
  for (const char *text : {"", "N +", "(N", "N)", "N N", "Q", "max(N)", "max(N, T", "f(N, T)", "#2",
                           "#-1", "99999999999999999999", "N*/T", "--1", "1 2"})
    EXPECT_FALSE(SizeExpr::parse(text, kNames)) << text;
  std::string deep = std::string(100000, '(') + "N" + std::string(100000, ')');
  EXPECT_FALSE(SizeExpr::parse(deep, kNames));
}

TEST(SizeExpr, ChecksThePostfixForm) {
  EXPECT_TRUE((n() * t()).wellFormed(2));
  EXPECT_FALSE((n() * t()).wellFormed(1));
  SizeExpr broken;
  broken.terms = {{Op::Dim, 0}, {Op::Add, 0}};
  EXPECT_FALSE(broken.wellFormed(1));
  broken.terms = {{Op::Dim, 0}, {Op::Dim, 0}};
  EXPECT_FALSE(broken.wellFormed(1));
  broken.terms.clear();
  EXPECT_FALSE(broken.wellFormed(1));
  EXPECT_FALSE(broken.evaluate({}).valid());
}

// Random trees: the text reads back to an expression of the same value at random dims.
TEST(SizeExpr, RoundTripsRandomExpressions) {
  std::mt19937 random(7);
  auto build = [&](auto &self, int depth) -> SizeExpr {
    switch (depth == 0 ? random() % 3 : 3 + random() % 8) {
    case 0:
      return n();
    case 1:
      return t();
    case 2:
      return SizeExpr(static_cast<int64_t>(random() % 9) - 2);
    default:
      Op op = static_cast<Op>(static_cast<int>(Op::Add) + random() % 8);
      return SizeExpr::binary(op, self(self, depth - 1), self(self, random() % depth));
    }
  };
  for (int i = 0; i < 2000; ++i) {
    SizeExpr expr = build(build, 1 + static_cast<int>(random() % 4));
    ASSERT_TRUE(expr.wellFormed(2));
    std::string text = expr.toString(kNames);
    std::optional<SizeExpr> back = SizeExpr::parse(text, kNames);
    ASSERT_TRUE(back) << text;
    for (int64_t N = 1; N < 4; ++N)
      ASSERT_EQ(valueOf(*back, N, 5 - N), valueOf(expr, N, 5 - N)) << text;
  }
}
