// bf16: values whose bits are known, ties, and what is not a number.
#include "support/BFloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace nncc;

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(toBFloat16(1.0f), 0x3F80);
  EXPECT_EQ(toBFloat16(1.0f + 0x1p-8f), 0x3F80);             // a tie, down to even
  EXPECT_EQ(toBFloat16(1.0f + 0x1p-7f + 0x1p-8f), 0x3F82);   // a tie, up to even
  EXPECT_EQ(toBFloat16(1.0f + 0x1p-8f + 0x1p-20f), 0x3F81);
  EXPECT_EQ(toBFloat16(-2.0f), 0xC000);
  EXPECT_EQ(fromBFloat16(0x3F81), 1.0f + 0x1p-7f);
}

TEST(BFloat16, KeepsWhatIsNotFinite) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(fromBFloat16(toBFloat16(-infinity)), -infinity);
  // One whose set bits would all be cut off.
  EXPECT_TRUE(std::isnan(fromBFloat16(toBFloat16(std::bit_cast<float>(0x7F800001u)))));
}
