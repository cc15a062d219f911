// Transforms against a plain loop that does one step after the other on whole images, conversions
// against values computed by hand, and the textual forms.
#include "runtime/data/Transforms.h"
#include "SourceTesting.h"
#include "runtime/data/Order.h"
#include "support/BFloat16.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

using namespace nncc;
using namespace nncc::data;

namespace {

/// [channels, height, width].
struct Picture {
  int64_t channels, height, width;
  std::vector<int> pixels;

  int at(int64_t c, int64_t y, int64_t x) const {
    if (y < 0 || x < 0 || y >= height || x >= width)
      return 0;
    return pixels[static_cast<size_t>((c * height + y) * width + x)];
  }
};

template <typename Pixel>
Picture build(int64_t channels, int64_t height, int64_t width, Pixel pixel) {
  Picture picture{channels, height, width, {}};
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        picture.pixels.push_back(pixel(c, y, x));
  return picture;
}

/// All different, none zero.
Picture numbered(int64_t channels, int64_t height, int64_t width) {
  return build(channels, height, width, [&](int64_t c, int64_t y, int64_t x) {
    return static_cast<int>((c * height + y) * width + x + 1);
  });
}

Picture crop(const Picture &in, int64_t top, int64_t left, int64_t height, int64_t width) {
  return build(in.channels, height, width,
               [&](int64_t c, int64_t y, int64_t x) { return in.at(c, y + top, x + left); });
}
Picture flip(const Picture &in) {
  return build(in.channels, in.height, in.width,
               [&](int64_t c, int64_t y, int64_t x) { return in.at(c, y, in.width - 1 - x); });
}

template <typename To, typename From>
std::vector<To> applyTo(const Transform &transform, const std::vector<From> &values,
                        int64_t sample = 0, int64_t epoch = 0) {
  int64_t count = 1;
  for (int64_t extent : transform.shape())
    count *= extent;
  std::vector<To> result(static_cast<size_t>(count));
  Result<void> applied =
      transform.apply(sample, epoch, reinterpret_cast<const std::byte *>(values.data()),
                      reinterpret_cast<std::byte *>(result.data()));
  EXPECT_TRUE(applied) << applied.error().message;
  return result;
}

Transform make(const Field &field, DType wanted, const TransformOptions &options = {}) {
  Result<Transform> transform = Transform::create(field, wanted, options);
  EXPECT_TRUE(transform) << transform.error().message;
  return *transform;
}

TransformOptions augmented(const std::string &text, uint64_t seed = 5) {
  TransformOptions options;
  options.augment = *parseAugmentation(text);
  options.seed = seed;
  return options;
}

std::string errorOf(const Field &field, DType wanted, const TransformOptions &options = {}) {
  Result<Transform> transform = Transform::create(field, wanted, options);
  return transform ? "no error" : transform.error().message;
}

} // namespace

TEST(Transforms, BytesBecomeFloatsAsPyTorchMakesThem) {
  TransformOptions options;
  options.normalization = *parseNormalization("mean=0.5,0.25,std=0.5,2");
  Transform transform = make({"image", DType::U8, {2, 1, 2}}, DType::F32, options);
  std::vector<float> result = applyTo<float, uint8_t>(transform, {0, 255, 51, 7});
  EXPECT_EQ(result, (std::vector<float>{(0 / 255.f - 0.5f) / 0.5f, 1.0f, (51 / 255.f - 0.25f) / 2,
                                        (7 / 255.f - 0.25f) / 2}));
  // Without normalisation: from 0 to 1; as they are with a divisor of 1 and without a shape.
  Field pixel{"x", DType::U8, {1}};
  EXPECT_EQ((applyTo<float, uint8_t>(make(pixel, DType::F32), {51})), std::vector<float>{0.2f});
  options.normalization = *parseNormalization("divisor=1");
  EXPECT_EQ((applyTo<float, uint8_t>(make(pixel, DType::F32, options), {51})),
            std::vector<float>{51});
  EXPECT_EQ((applyTo<float, uint8_t>(make({"y", DType::U8, {}}, DType::F32), {51})),
            std::vector<float>{51});
}

TEST(Transforms, FloatsKeepTheirValuesAndAreNormalised) {
  Field field{"x", DType::F32, {3}};
  EXPECT_TRUE(make(field, DType::F32).isIdentity());
  TransformOptions options;
  options.normalization = *parseNormalization("mean=1,2,3,std=2,4,8");
  EXPECT_EQ((applyTo<float, float>(make(field, DType::F32, options), {2, 4, 7})),
            (std::vector<float>{0.5f, 0.5f, 0.5f}));
  EXPECT_EQ((applyTo<double, float>(make(field, DType::F64, options), {2, 4, 7})),
            (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ((applyTo<uint16_t, float>(make(field, DType::BF16), {1, -2, 0.5f})),
            (std::vector<uint16_t>{0x3F80, 0xC000, 0x3F00}));
  EXPECT_EQ((applyTo<uint16_t, float>(make(field, DType::F16), {1, -2, 0.5f})),
            (std::vector<uint16_t>{0x3C00, 0xC000, 0x3800}));
  EXPECT_EQ((applyTo<float, double>(make({"x", DType::F64, {2}}, DType::F32), {0.1, -3})),
            (std::vector<float>{0.1f, -3}));
  EXPECT_EQ((applyTo<float, uint16_t>(make({"x", DType::F16, {1}}, DType::F32), {0xC000})),
            std::vector<float>{-2});
}

TEST(Transforms, IntegersChangeTheirTypeWithinItsRange) {
  Field label{"label", DType::I64, {}};
  EXPECT_EQ((applyTo<uint8_t, int64_t>(make(label, DType::U8), {255})), std::vector<uint8_t>{255});
  EXPECT_EQ((applyTo<int32_t, int64_t>(make(label, DType::I32), {-7})), std::vector<int32_t>{-7});
  EXPECT_EQ((applyTo<float, int64_t>(make(label, DType::F32), {9})), std::vector<float>{9});
  EXPECT_EQ((applyTo<int64_t, int8_t>(make({"l", DType::I8, {2}}, DType::I64), {-1, 5})),
            (std::vector<int64_t>{-1, 5}));
  std::map<DType, int64_t> unfit = {
      {DType::U8, 256}, {DType::I8, -129}, {DType::I32, 1ll << 31}, {DType::Bool, 2}};
  for (auto [dtype, value] : unfit) {
    int64_t room = 0;
    Result<void> applied = make(label, dtype)
                               .apply(0, 0, reinterpret_cast<const std::byte *>(&value),
                                      reinterpret_cast<std::byte *>(&room));
    ASSERT_FALSE(applied) << nameOf(dtype);
    EXPECT_CONTAINS(applied.error().message,
                    std::to_string(value) + " of field 'label' does not fit in ");
  }
}

TEST(Transforms, ChainsEqualOneStepAfterTheOther) {
  // Every possible result of crop, flip and shift, made by plain loops; each sample must have one
  // of them, and over many samples all of them must occur.
  constexpr int kSamples = 6000;
  Picture in = numbered(2, 4, 5);
  std::map<std::vector<int>, int> counts;
  for (int64_t top = -1; top <= 2; ++top)
    for (int64_t left = -1; left <= 2; ++left)
      for (bool mirrored : {false, true})
        for (int64_t down = -1; down <= 1; ++down)
          for (int64_t right = -1; right <= 1; ++right) {
            Picture cropped = crop(in, top, left, 3, 4);
            Picture turned = mirrored ? flip(cropped) : cropped;
            counts[crop(turned, down, right, 3, 4).pixels] = 0;
          }
  ASSERT_GT(counts.size(), 150u); // some of the 288 are the same
  Transform transform =
      make({"image", DType::U8, {2, 4, 5}}, DType::U8, augmented("crop=3x4+1,flip,shift=1"));
  EXPECT_EQ(transform.shape(), (std::vector<int64_t>{2, 3, 4}));
  std::vector<uint8_t> bytes(in.pixels.begin(), in.pixels.end());
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<uint8_t> result = applyTo<uint8_t>(transform, bytes, sample);
    auto found = counts.find({result.begin(), result.end()});
    ASSERT_NE(found, counts.end())
        << "sample " << sample << " has a result that no order of steps makes";
    ++found->second;
  }
  for (const auto &[pixels, count] : counts)
    EXPECT_GT(count, 0);
}

TEST(Transforms, WhatComesInIsBlackBeforeNormalisation) {
  TransformOptions options = augmented("crop=1x1+5");
  options.normalization = *parseNormalization("mean=0.5,std=0.5");
  // 11 x 11 positions, one of which shows the pixel.
  for (DType dtype : {DType::U8, DType::F32}) {
    Transform transform = make({"image", dtype, {1, 1, 1}}, DType::F32, options);
    std::set<float> seen;
    for (int sample = 0; sample < 2000; ++sample)
      seen.insert(dtype == DType::U8 ? applyTo<float, uint8_t>(transform, {255}, sample)[0]
                                     : applyTo<float, float>(transform, {1}, sample)[0]);
    EXPECT_EQ(seen, (std::set<float>{-1, 1})) << nameOf(dtype);
  }
}

TEST(Transforms, ChoicesDependOnSeedEpochAndSampleAlone) {
  Field field{"image", DType::U8, {1, 8, 8}};
  Picture in = numbered(1, 8, 8);
  std::vector<uint8_t> bytes(in.pixels.begin(), in.pixels.end());
  auto run = [&](uint64_t seed, int64_t epoch) {
    Transform transform = make(field, DType::F32, augmented("crop=8+2,flip", seed));
    std::vector<std::vector<float>> results;
    for (int64_t sample = 0; sample < 50; ++sample)
      results.push_back(applyTo<float>(transform, bytes, sample, epoch));
    return results;
  };
  EXPECT_EQ(run(1, 0), run(1, 0));
  EXPECT_NE(run(1, 0), run(2, 0));
  EXPECT_NE(run(1, 0), run(1ull << 32 | 1, 0));
  EXPECT_NE(run(1, 0), run(1, 1));
  std::vector<std::vector<float>> samples = run(1, 0);
  EXPECT_GT(std::set(samples.begin(), samples.end()).size(), 20u);
}

TEST(Transforms, FlipsAsOftenAsAsked) {
  constexpr int kSamples = 10000;
  for (float probability : {0.0f, 0.25f, 0.5f, 1.0f}) {
    Transform transform = make({"image", DType::U8, {1, 1, 2}}, DType::U8,
                               augmented("flip=" + std::to_string(probability)));
    int flips = 0;
    for (int sample = 0; sample < kSamples; ++sample)
      flips += applyTo<uint8_t, uint8_t>(transform, {1, 2}, sample)[0] == 2;
    // Five standard deviations.
    double deviation = std::sqrt(probability * (1 - probability) * kSamples);
    EXPECT_NEAR(flips, probability * kSamples, 5 * deviation);
  }
}

TEST(Transforms, EvaluationTakesTheCentre) {
  TransformOptions options = augmented("crop=2,flip=1,shift=2");
  options.isRandom = false;
  Picture in = numbered(1, 4, 6);
  std::vector<uint8_t> bytes(in.pixels.begin(), in.pixels.end());
  std::vector<uint8_t> result =
      applyTo<uint8_t>(make({"image", DType::U8, {1, 4, 6}}, DType::U8, options), bytes, 3);
  std::vector<int> expected = crop(in, 1, 2, 2, 2).pixels;
  EXPECT_EQ(result, std::vector<uint8_t>(expected.begin(), expected.end()));
}

TEST(Transforms, RefusesWhatDoesNotFit) {
  Field image{"image", DType::U8, {3, 28, 28}};
  EXPECT_CONTAINS(
      errorOf(image, DType::F32, augmented("crop=40+4")),
      "a crop of 40 x 40 does not fit into an image of 28 x 28 with 4 pixels around it");
  EXPECT_CONTAINS(errorOf({"x", DType::F32, {7}}, DType::F32, augmented("flip")),
                  "only images, fields of shape [channels, height, width], can be augmented, found "
                  "x: f32[7]");
  EXPECT_CONTAINS(errorOf({"x", DType::F32, {7}}, DType::I64), "which do not become i64");
  TransformOptions options;
  options.normalization = *parseNormalization("mean=1,2,std=1,2");
  EXPECT_CONTAINS(errorOf(image, DType::F32, options), "each of the 3 channels");
  EXPECT_CONTAINS(errorOf(image, DType::U8, options), "cannot be normalised");
}

TEST(TransformText, Augmentation) {
  auto steps = parseAugmentation("crop=32x24+4,flip,shift=2,flip=0.1,crop=8");
  ASSERT_TRUE(steps) << steps.error().message;
  ASSERT_EQ(steps->size(), 5u);
  EXPECT_EQ((*steps)[0].height, 32);
  EXPECT_EQ((*steps)[0].width, 24);
  EXPECT_EQ((*steps)[0].padding, 4);
  EXPECT_EQ((*steps)[1].probability, 0.5f);
  EXPECT_EQ((*steps)[2].maxShift, 2);
  EXPECT_EQ((*steps)[3].probability, 0.1f);
  EXPECT_EQ((*steps)[4].width, 8);
  EXPECT_EQ((*steps)[4].padding, 0);
  for (const char *bad : {"", "crop", "crop=", "crop=0", "crop=8+", "crop=8x", "crop=-8",
                          "crop=8+-1", "crop=99999999", "flip=2", "flip=nan", "shift", "shift=-1",
                          "shift=1.5", "rotate=5", "flip,", "flip=", "crop=8 "}) {
    auto result = parseAugmentation(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_CONTAINS(result.error().message, "expected crop=SIZE[+PADDING]");
  }
}

TEST(TransformText, Normalization) {
  auto both = parseNormalization("mean=0.1307,std=0.3081");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->mean, std::vector<float>{0.1307f});
  EXPECT_EQ(both->std, std::vector<float>{0.3081f});
  EXPECT_EQ(both->divisor, 0);
  auto channels = parseNormalization("std=1,2,3,mean=-4,5,6,divisor=2");
  ASSERT_TRUE(channels);
  EXPECT_EQ(channels->mean, (std::vector<float>{-4, 5, 6}));
  EXPECT_EQ(channels->std, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(channels->divisor, 2);
  for (const char *bad :
       {"", "mean", "mean=", "mean=x", "std=0", "std=-1", "divisor=0", "divisor=1,2",
        "mean=1,mean=2", "sigma=1", "1,mean=2", "std=nan", "mean=inf"})
    EXPECT_FALSE(parseNormalization(bad)) << bad;
}

TEST(Order, IsAPermutationOfSeedAndEpoch) {
  constexpr int64_t kCount = 1000;
  std::vector<int64_t> order = shuffledOrder(kCount, 1, 0), sorted = order;
  EXPECT_EQ(order, shuffledOrder(kCount, 1, 0));
  EXPECT_NE(order, shuffledOrder(kCount, 1, 1));
  EXPECT_NE(order, shuffledOrder(kCount, 2, 0));
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> expected(kCount);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(sorted, expected);
  EXPECT_NE(order, expected);
  EXPECT_EQ(shuffledOrder(1, 1, 0), std::vector<int64_t>{0});
  EXPECT_TRUE(shuffledOrder(0, 1, 0).empty());
}

TEST(Order, EveryPermutationIsAsLikely) {
  constexpr int kTries = 24000;
  std::map<std::vector<int64_t>, int> counts;
  for (int epoch = 0; epoch < kTries; ++epoch)
    ++counts[shuffledOrder(4, 7, epoch)];
  ASSERT_EQ(counts.size(), 24u);
  double chiSquare = 0;
  for (const auto &[order, count] : counts)
    chiSquare += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chiSquare, 49.7); // 23 degrees of freedom: exceeded by chance once in a thousand seeds
}
