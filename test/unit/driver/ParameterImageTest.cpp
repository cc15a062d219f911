// Initialised parameters: ranges, moments, and that a parameter's start depends on its name and the
// seed alone.

#include "driver/ParameterImage.h"
#include "driver/ImportModel.h"
#include "runtime/Safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace nncc;

namespace {

std::vector<float> valuesOf(const std::string &ir, const std::string &name, uint64_t seed) {
  auto context = driver::createContext();
  auto module = driver::importModel(*context, {"test.mlir", ir, {}});
  EXPECT_TRUE(bool(module)) << module.error().message;
  auto image = driver::makeParameterImage(*module->module, {"", seed});
  EXPECT_TRUE(bool(image)) << image.error().message;
  auto parsed = rt::Safetensors::parse(std::as_bytes(std::span(*image)), "image");
  EXPECT_TRUE(bool(parsed)) << parsed.error().message;
  const rt::SafetensorsEntry *entry = parsed->find(name);
  if (!entry)
    return {};
  std::vector<float> values(entry->data.size() / sizeof(float));
  std::memcpy(values.data(), entry->data.data(), entry->data.size());
  return values;
}

constexpr const char *kOne =
    "nn.parameter @a : tensor<100x100xf32> {init = #nn.init<uniform, -0.5, 1.5>}\n";
constexpr const char *kTwo =
    "nn.parameter @b : tensor<7xf32> {init = #nn.init<normal, 0.0, 1.0>}\n"
    "nn.parameter @a : tensor<100x100xf32> {init = #nn.init<uniform, -0.5, 1.5>}\n";

double meanOf(const std::vector<float> &values) {
  double sum = 0;
  for (float value : values)
    sum += value;
  return sum / values.size();
}

double deviationOf(const std::vector<float> &values) {
  double mean = meanOf(values), sum = 0;
  for (float value : values)
    sum += (value - mean) * (value - mean);
  return std::sqrt(sum / values.size());
}

TEST(ParameterImage, UniformFillsItsRange) {
  std::vector<float> values = valuesOf(kOne, "a", 1);
  ASSERT_EQ(values.size(), 10000u);
  for (float value : values) {
    ASSERT_GE(value, -0.5f);
    ASSERT_LT(value, 1.5f);
  }
  EXPECT_NEAR(meanOf(values), 0.5, 0.03);
  EXPECT_NEAR(deviationOf(values), 2 / std::sqrt(12.0), 0.02);
}

TEST(ParameterImage, NormalHasItsMoments) {
  std::vector<float> values =
      valuesOf("nn.parameter @a : tensor<20000xf32> {init = #nn.init<normal, 3.0, 0.5>}\n", "a", 1);
  EXPECT_NEAR(meanOf(values), 3, 0.02);
  EXPECT_NEAR(deviationOf(values), 0.5, 0.02);
}

TEST(ParameterImage, StartDependsOnSeedAndNameAlone) {
  EXPECT_EQ(valuesOf(kOne, "a", 1), valuesOf(kTwo, "a", 1));
  EXPECT_NE(valuesOf(kOne, "a", 1), valuesOf(kOne, "a", 2));
  std::vector<float> other = valuesOf(
      "nn.parameter @c : tensor<100x100xf32> {init = #nn.init<uniform, -0.5, 1.5>}\n", "c", 1);
  EXPECT_NE(valuesOf(kOne, "a", 1), other);
}

TEST(ParameterImage, ConstantsAndValuesAreTakenAsTheyAre) {
  const char *ir = "nn.parameter @k : tensor<3xf32> {init = #nn.init<constant, 0.25>}\n"
                   "nn.parameter @o : tensor<2xf32> {init = #nn.init<ones>}\n"
                   "nn.parameter @v : tensor<3xf32> = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n"
                   "nn.parameter @s : tensor<2xf32> = dense<4.0> : tensor<2xf32>\n";
  EXPECT_EQ(valuesOf(ir, "k", 1), (std::vector<float>{0.25f, 0.25f, 0.25f}));
  EXPECT_EQ(valuesOf(ir, "o", 1), (std::vector<float>{1, 1}));
  EXPECT_EQ(valuesOf(ir, "v", 1), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(valuesOf(ir, "s", 1), (std::vector<float>{4, 4}));
}

TEST(ParameterImage, MissingFileIsNamed) {
  auto context = driver::createContext();
  auto module = driver::importModel(*context, {"test.mlir", kOne, {}});
  auto image = driver::makeParameterImage(*module->module, {"/no/such.safetensors", 0});
  ASSERT_FALSE(bool(image));
  EXPECT_NE(image.error().message.find("/no/such.safetensors"), std::string::npos);
}

} // namespace
