// Numbers with units, at the borders where the unit or the digits change.

#include "tools/support/Units.h"

#include <gtest/gtest.h>

using namespace nncc::tools;

TEST(Units, Durations) {
  EXPECT_EQ(formatDuration(0), "0.00 ns");
  EXPECT_EQ(formatDuration(999.4), "999 ns");
  EXPECT_EQ(formatDuration(999.6), "1.00 µs");
  EXPECT_EQ(formatDuration(12'340), "12.3 µs");
  EXPECT_EQ(formatDuration(3'420'000), "3.42 ms");
  EXPECT_EQ(formatDuration(75e9), "75.0 s");
}

TEST(Units, Bytes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(102.4 * 1024 * 1024), "102 MiB");
}

TEST(Units, Counts) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(1000), "1,000");
  EXPECT_EQ(formatCount(-1234567), "-1,234,567");
  EXPECT_EQ(formatCount(-123), "-123");
  EXPECT_EQ(formatShortCount(512), "512");
  EXPECT_EQ(formatShortCount(8.18e9), "8.18 G");
}

TEST(Units, Shares) {
  EXPECT_EQ(formatShare(0.924), "92.4%");
  EXPECT_EQ(formatShare(1.0 / 0.0), "-");
}

TEST(Units, ReadsBytes) {
  EXPECT_EQ(parseBytes("123"), 123);
  EXPECT_EQ(parseBytes("4K"), 4096);
  EXPECT_EQ(parseBytes("3M"), 3145728);
  EXPECT_EQ(parseBytes("2G"), 2147483648);
  for (const char *text : {"", "0", "-1", "M", "1T", "1MB", "1.5G", " 1", "99999999999999999999", "9999999999G"})
    EXPECT_EQ(parseBytes(text), std::nullopt) << text;
}
