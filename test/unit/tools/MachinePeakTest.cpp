// The FMA yardstick: not how fast it is, but that it is a number that two threads raise or keep.

#include "tools/support/MachinePeak.h"
#include "tools/support/Statistics.h"

#include <gtest/gtest.h>

using namespace nncc::tools;

TEST(MachinePeak, MeasuresSomething) {
  MachinePeak peak(1);
  EXPECT_EQ(peak.gflops(), 0);
  peak.sample();
  EXPECT_GT(peak.gflops(), 0.1);
  EXPECT_LT(peak.gflops(), 10000) << "the loop was optimised away";
}

TEST(Statistics, PercentilesAreNearestRanks) {
  std::vector<double> samples = {15, 20, 35, 40, 50};
  EXPECT_EQ(percentile(samples, 0.05), 15);
  EXPECT_EQ(percentile(samples, 0.30), 20);
  EXPECT_EQ(percentile(samples, 0.40), 20);
  EXPECT_EQ(percentile(samples, 0.50), 35);
  EXPECT_EQ(percentile(samples, 1.00), 50);
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(mean(samples), 32);
}
