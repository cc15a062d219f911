// Comparison of tensors as nncc-run --expect does it: what matches, what does not, and where.

#include "tools/nncc-run/Compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace nncc;
using namespace nncc::tools;

namespace {

rt::HostTensor tensorOf(std::vector<int64_t> shape, std::vector<float> values) {
  rt::HostTensor tensor{DType::F32, std::move(shape), std::vector<std::byte>(values.size() * 4)};
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

TEST(Compare, ToleranceIsAbsolutePlusRelative) {
  auto expected = tensorOf({2}, {100, 0});
  auto within = compare("y", tensorOf({2}, {100.9f, 0.09f}), expected, {0.009, 0.1});
  ASSERT_TRUE(bool(within));
  EXPECT_TRUE(within->matches) << within->report;
  EXPECT_NEAR(within->maxAbsError, 0.9, 1e-5);
  EXPECT_NEAR(within->maxRelError, 0.009, 1e-7);
  auto beyond = compare("y", tensorOf({2}, {100.9f, 0.09f}), expected, {0.007, 0.1});
  EXPECT_FALSE(beyond->matches);
}

TEST(Compare, NamesThePlaceOfTheWorstElement) {
  auto result =
      compare("y", tensorOf({2, 3}, {0, 0, 1, 0, 5, 0}), tensorOf({2, 3}, {0, 0, 0, 0, 0, 0}), {});
  ASSERT_TRUE(bool(result));
  EXPECT_FALSE(result->matches);
  EXPECT_NE(result->report.find("2 of 6 elements"), std::string::npos) << result->report;
  EXPECT_NE(result->report.find("at [1, 1]: 5, expected 0"), std::string::npos) << result->report;
}

TEST(Compare, InfinityAndNanMatchOnlyThemselves) {
  float inf = INFINITY, nan = NAN;
  EXPECT_TRUE(
      compare("y", tensorOf({3}, {inf, -inf, nan}), tensorOf({3}, {inf, -inf, nan}), {})->matches);
  EXPECT_FALSE(compare("y", tensorOf({1}, {nan}), tensorOf({1}, {0}), {1e9, 1e9})->matches);
  EXPECT_FALSE(compare("y", tensorOf({1}, {0}), tensorOf({1}, {nan}), {1e9, 1e9})->matches);
  EXPECT_FALSE(compare("y", tensorOf({1}, {1}), tensorOf({1}, {inf}), {0, 0})->matches);
  EXPECT_FALSE(compare("y", tensorOf({1}, {1}), tensorOf({1}, {inf}), {})->matches);
  EXPECT_FALSE(compare("y", tensorOf({1}, {-inf}), tensorOf({1}, {inf}), {})->matches);
}

TEST(Compare, RefusesAnotherShape) {
  auto result = compare("y", tensorOf({2}, {0, 0}), tensorOf({1, 2}, {0, 0}), {});
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(result.error().kind, ErrorKind::User);
  EXPECT_NE(result.error().message.find("f32[2]"), std::string::npos);
  EXPECT_NE(result.error().message.find("f32[1, 2]"), std::string::npos);
}

TEST(Compare, ReadsEveryElementType) {
  auto read = [](DType dtype, auto value) {
    rt::HostTensor tensor{dtype, {1}, std::vector<std::byte>(sizeof value)};
    std::memcpy(tensor.data.data(), &value, sizeof value);
    return elementAt(tensor, 0);
  };
  EXPECT_EQ(read(DType::F16, uint16_t(0xC100)), -2.5);
  EXPECT_EQ(read(DType::BF16, uint16_t(0x4049)), 3.140625);
  EXPECT_EQ(read(DType::F64, 0.1), 0.1);
  EXPECT_EQ(read(DType::I8, int8_t(-7)), -7);
  EXPECT_EQ(read(DType::U8, uint8_t(200)), 200);
  EXPECT_EQ(read(DType::I32, int32_t(-70000)), -70000);
  EXPECT_EQ(read(DType::I64, int64_t(1) << 40), double(int64_t(1) << 40));
  EXPECT_EQ(read(DType::Bool, uint8_t(1)), 1);
}

} // namespace
