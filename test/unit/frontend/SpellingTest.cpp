// Which names are suggested for a mistyped one.
#include "frontend/nn/Spelling.h"

#include <gtest/gtest.h>

namespace nncc::frontend {
namespace {

const std::vector<std::string> names = {"conv1d", "conv2d",     "linear",
                                        "relu",   "max_pool2d", "softmax"};

TEST(Spelling, FindsTheNearestName) {
  EXPECT_EQ(closestName("conv2", names), "conv2d");
  EXPECT_EQ(closestName("Linear", names), "linear");
  EXPECT_EQ(closestName("rleu", names), "relu") << "swapped letters are one edit";
  EXPECT_EQ(closestName("maxpool2d", names), "max_pool2d");
  EXPECT_EQ(closestName("softmx", names), "softmax");
}

TEST(Spelling, SuggestsNothingFarFetched) {
  EXPECT_EQ(closestName("attention", names), std::nullopt);
  EXPECT_EQ(closestName("x", names), std::nullopt);
  EXPECT_EQ(closestName("", names), std::nullopt);
  EXPECT_EQ(closestName(std::string(1000, 'a'), names), std::nullopt);
}

TEST(Spelling, WritesTheTailOfAMessage) {
  EXPECT_EQ(suggestion("relu6x", {"relu6"}), "; did you mean 'relu6'?");
  EXPECT_EQ(suggestion("zzz", {"relu6"}), "");
}

} // namespace
} // namespace nncc::frontend
