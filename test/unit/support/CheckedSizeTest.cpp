// CheckedSize: every operation at and beyond the ends of the 64-bit range.
#include "support/CheckedSize.h"

#include <gtest/gtest.h>

using nncc::CheckedSize;

TEST(CheckedSize, AddsSubtractsAndMultiplies) {
  EXPECT_EQ((CheckedSize(3) + 4).get(), 7);
  EXPECT_EQ((CheckedSize(3) - 4).get(), -1);
  EXPECT_EQ((CheckedSize(3) * -4).get(), -12);
}

TEST(CheckedSize, BecomesInvalidOnOverflowAndStaysSo) {
  EXPECT_FALSE((CheckedSize(INT64_MAX) + 1).valid());
  EXPECT_FALSE((CheckedSize(INT64_MIN) - 1).valid());
  EXPECT_FALSE((CheckedSize(int64_t{1} << 32) * (int64_t{1} << 31)).valid());
  CheckedSize product = CheckedSize(INT64_MAX) * 2;
  EXPECT_FALSE((product * 0 + 1).valid());
  EXPECT_EQ(product.get(), std::nullopt);
  EXPECT_EQ(product.getOr(-7), -7);
}

TEST(CheckedSize, DividesTowardsTheNamedDirection) {
  EXPECT_EQ(floorDiv(7, CheckedSize(2)).get(), 3);
  EXPECT_EQ(floorDiv(-7, CheckedSize(2)).get(), -4);
  EXPECT_EQ(floorDiv(7, CheckedSize(-2)).get(), -4);
  EXPECT_EQ(ceilDiv(7, CheckedSize(2)).get(), 4);
  EXPECT_EQ(ceilDiv(-7, CheckedSize(2)).get(), -3);
  EXPECT_EQ(ceilDiv(-7, CheckedSize(-2)).get(), 4);
  EXPECT_EQ(ceilDiv(8, CheckedSize(2)).get(), 4);
}

TEST(CheckedSize, RefusesDivisionsWithoutAResult) {
  EXPECT_FALSE(floorDiv(1, CheckedSize(0)).valid());
  EXPECT_FALSE(ceilDiv(1, CheckedSize(0)).valid());
  EXPECT_FALSE(floorDiv(INT64_MIN, CheckedSize(-1)).valid());
}

TEST(CheckedSize, RoundsUpToAUnit) {
  EXPECT_EQ(roundUp(0, CheckedSize(64)).get(), 0);
  EXPECT_EQ(roundUp(1, CheckedSize(64)).get(), 64);
  EXPECT_EQ(roundUp(64, CheckedSize(64)).get(), 64);
  EXPECT_FALSE(roundUp(INT64_MAX, CheckedSize(64)).valid());
}
