// CpuLevel: the machine can run what it says of itself; better levels rank higher; others are
// refused. The levels of x86 are checked against the compiler's own detection.
#include "runtime/CpuLevel.h"

#include <gtest/gtest.h>

using namespace nncc::rt;

TEST(CpuLevel, RanksTheHostHighest) {
  std::string host = hostCpuLevel();
  ASSERT_TRUE(rankOnHost(host)) << host;
  std::string base = host.substr(0, host.find('+'));
  ASSERT_TRUE(rankOnHost(base));
  EXPECT_LE(*rankOnHost(base), *rankOnHost(host));
}

TEST(CpuLevel, RefusesUnknownLevelsAndFeatures) {
  EXPECT_FALSE(rankOnHost("sparc"));
  EXPECT_FALSE(rankOnHost(""));
  EXPECT_FALSE(rankOnHost(hostCpuLevel() + "+warp-drive"));
  EXPECT_FALSE(rankOnHost(hostCpuLevel() + "+"));
}

#if defined(__x86_64__)
TEST(CpuLevel, AgreesWithTheCompilersDetection) {
  __builtin_cpu_init();
  EXPECT_TRUE(rankOnHost("x86-64"));
  EXPECT_FALSE(rankOnHost("aarch64"));
  EXPECT_EQ(rankOnHost("x86-64-v2").has_value(), __builtin_cpu_supports("x86-64-v2") != 0);
  EXPECT_EQ(rankOnHost("x86-64-v3").has_value(), __builtin_cpu_supports("x86-64-v3") != 0);
  EXPECT_EQ(rankOnHost("x86-64-v4").has_value(), __builtin_cpu_supports("x86-64-v4") != 0);
  EXPECT_EQ(rankOnHost("x86-64+avx512vnni").has_value(), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(rankOnHost("x86-64+avx512bf16").has_value(), __builtin_cpu_supports("avx512bf16") != 0);
  if (rankOnHost("x86-64-v3")) {
    EXPECT_GT(*rankOnHost("x86-64-v3"), *rankOnHost("x86-64-v2"));
  }
}
#endif
