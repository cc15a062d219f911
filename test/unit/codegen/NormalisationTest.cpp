// Softmax and the normalisations against plain loops in double: axes, memory orders, tails, fused chains, large values.

#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/KernelText.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

std::string tensor(const std::string &shape, const std::string &encoding = "") {
  return "tensor<" + shape + (encoding.empty() ? "" : ", #nn.enc<" + encoding + ">") + ">";
}

/// Element number `i` of a group of `size` elements.
using Group = std::function<double &(int64_t i)>;

void softmax(int64_t size, bool isLog, const Group &at) {
  double largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < size; ++i)
    largest = std::max(largest, at(i));
  for (int64_t i = 0; i < size; ++i)
    sum += std::exp(at(i) - largest);
  for (int64_t i = 0; i < size; ++i)
    at(i) = isLog ? at(i) - largest - std::log(sum) : std::exp(at(i) - largest) / sum;
}

void normalise(int64_t size, double epsilon, bool centres, const Group &at) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; centres && i < size; ++i)
    mean += at(i) / size;
  for (int64_t i = 0; i < size; ++i)
    variance += (at(i) - mean) * (at(i) - mean) / size;
  for (int64_t i = 0; i < size; ++i)
    at(i) = (at(i) - mean) / std::sqrt(variance + epsilon);
}

std::vector<float> rounded(const std::vector<double> &values) {
  return std::vector<float>(values.begin(), values.end());
}

std::vector<double> widened(const std::vector<float> &values) {
  return std::vector<double>(values.begin(), values.end());
}

void checkSoftmax(int64_t outer, int64_t size, int64_t inner, bool isLog) {
  std::string x = tensor(std::to_string(outer) + "x" + std::to_string(size) + "x" + std::to_string(inner) + "xf32");
  CompiledKernel kernel(kernelText({x}, {x},
                                   std::string("%0 = \"nn.") + (isLog ? "log_softmax" : "softmax") + "\"(%a0) <{axis = 1 : i64}> : (" + x + ") -> " + x +
                                       "\nnn.yield %0 : " + x));
  std::vector<float> in = randomFloats(outer * size * inner, 1, -30, 30);
  std::vector<double> want = widened(in);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      softmax(size, isLog, [&](int64_t k) -> double & { return want[(o * size + k) * inner + i]; });
  Buffer<float> buffer(in), out(in.size());
  ASSERT_EQ(kernel.run({buffer, out}), rt::KernelOk);
  expectNear(out.values(), rounded(want), 1e-6, 3e-6);
  // In place, and in one call.
  ASSERT_EQ(kernel.runWhole({buffer, buffer}), rt::KernelOk);
  EXPECT_EQ(buffer.values(), out.values());
}

} // namespace

TEST(Softmax, LastAxis) {
  for (int64_t size : {1, 10, 16, 100, 128, 1000})
    checkSoftmax(7, size, 1, false);
}
TEST(Softmax, OtherAxis) { checkSoftmax(3, 9, 21, false); }
TEST(LogSoftmax, LastAxis) { checkSoftmax(5, 77, 1, true); }
TEST(LogSoftmax, OtherAxis) { checkSoftmax(2, 6, 40, true); }

TEST(Softmax, OfScaledAndMaskedScores) {
  std::string x = tensor("2x3x?x50xf32", "[N]"), mask = tensor("2x1x1x50xf32"), scale = tensor("1xf32");
  CompiledKernel kernel(kernelText(
      {x, mask}, {x},
      "%s = nn.constant dense<0.125> : " + scale + "\n%0 = nn.mul %a0, %s : (" + x + ", " + scale + ") -> " + x +
          "\n%1 = nn.add %0, %a1 : (" + x + ", " + mask + ") -> " + x + "\n%2 = \"nn.softmax\"(%1) <{axis = 3 : i64}> : (" + x + ") -> " + x +
          "\n%3 = nn.add %2, %2 : (" + x + ", " + x + ") -> " + x + "\nnn.yield %3 : " + x));
  std::vector<float> in = randomFloats(2 * 3 * 4 * 50, 1, -20, 20), masks(100, 0.0f);
  for (int i = 0; i < 20; ++i)
    masks[80 + i] = -INFINITY;
  std::vector<double> want = widened(in);
  for (int row = 0; row < 24; ++row) {
    for (int i = 0; i < 50; ++i)
      want[row * 50 + i] = want[row * 50 + i] * 0.125 + masks[row / 12 * 50 + i];
    softmax(50, false, [&](int64_t i) -> double & { return want[row * 50 + i]; });
    for (int i = 0; i < 50; ++i)
      want[row * 50 + i] *= 2;
  }
  Buffer<float> buffer(in), second(masks), out(in.size());
  ASSERT_EQ(kernel.run({buffer, second, out}, {4}), rt::KernelOk);
  expectNear(out.values(), rounded(want), 1e-6, 3e-6);
}

TEST(LayerNorm, WithResidualAndBothResults) {
  for (int64_t size : {5, 64, 77, 768}) {
    std::string x = tensor("6x" + std::to_string(size) + "xf32"), affine = tensor(std::to_string(size) + "xf32");
    CompiledKernel kernel(
        kernelText({x, x, affine, affine}, {x, x},
                   "%0 = nn.add %a0, %a1 : (" + x + ", " + x + ") -> " + x + "\n%1 = nn.layer_norm %0 scale %a2 bias %a3 {dims = 1} : (" +
                       x + ", " + affine + ", " + affine + ") -> " + x + "\nnn.yield %1, %0 : " + x + ", " + x));
    std::vector<float> a = randomFloats(6 * size, 1, 90, 110), b = randomFloats(6 * size, 2), scale = randomFloats(size, 3),
                       bias = randomFloats(size, 4), sum(a.size());
    for (size_t i = 0; i < a.size(); ++i)
      sum[i] = a[i] + b[i];
    std::vector<double> want = widened(sum);
    for (int64_t row = 0; row < 6; ++row) {
      normalise(size, 1e-5, true, [&](int64_t i) -> double & { return want[row * size + i]; });
      for (int64_t i = 0; i < size; ++i)
        want[row * size + i] = want[row * size + i] * scale[i] + bias[i];
    }
    Buffer<float> first(a), second(b), s(scale), t(bias), out(a.size()), residual(a.size());
    ASSERT_EQ(kernel.run({first, second, s, t, out, residual}), rt::KernelOk);
    expectNear(out.values(), rounded(want), 1e-4, 1e-4);
    EXPECT_EQ(residual.values(), sum);
  }
}

TEST(LayerNorm, OverTwoDimensions) {
  std::string x = tensor("4x3x19xf32"), affine = tensor("3x19xf32");
  CompiledKernel kernel(kernelText({x, affine}, {x},
                                   "%0 = nn.layer_norm %a0 scale %a1 {dims = 2} : (" + x + ", " + affine + ") -> " + x +
                                       "\nnn.yield %0 : " + x));
  std::vector<float> in = randomFloats(228, 1), scale = randomFloats(57, 2);
  std::vector<double> want = widened(in);
  for (int row = 0; row < 4; ++row) {
    normalise(57, 1e-5, true, [&](int64_t i) -> double & { return want[row * 57 + i]; });
    for (int i = 0; i < 57; ++i)
      want[row * 57 + i] *= scale[i];
  }
  Buffer<float> buffer(in), s(scale), out(228);
  ASSERT_EQ(kernel.run({buffer, s, out}), rt::KernelOk);
  expectNear(out.values(), rounded(want), 1e-5, 1e-5);
}

TEST(RmsNorm, LastDimension) {
  std::string x = tensor("?x70xf32", "[N]"), affine = tensor("70xf32");
  CompiledKernel kernel(kernelText({x, affine}, {x},
                                   "%0 = nn.rms_norm %a0 scale %a1 {dims = 1} : (" + x + ", " + affine + ") -> " + x +
                                       "\nnn.yield %0 : " + x));
  std::vector<float> in = randomFloats(350, 1), scale = randomFloats(70, 2);
  std::vector<double> want = widened(in);
  for (int row = 0; row < 5; ++row) {
    normalise(70, 1e-5, false, [&](int64_t i) -> double & { return want[row * 70 + i]; });
    for (int i = 0; i < 70; ++i)
      want[row * 70 + i] *= scale[i];
  }
  Buffer<float> buffer(in), s(scale), out(350);
  ASSERT_EQ(kernel.run({buffer, s, out}, {5}), rt::KernelOk);
  expectNear(out.values(), rounded(want), 1e-5, 1e-5);
}

namespace {
/// Groups of channels with the spatial dimensions; one channel per group is instance norm.
void checkGroupNorm(const std::string &op, int64_t channels, int64_t groups, bool channelsLast) {
  constexpr int64_t n = 2, h = 5, w = 7;
  std::string x = tensor("2x" + std::to_string(channels) + "x5x7xf32", channelsLast ? "[], order = [0, 2, 3, 1]" : ""),
              affine = tensor(std::to_string(channels) + "xf32");
  CompiledKernel kernel(kernelText({x, affine, affine}, {x},
                                   "%0 = nn." + op + " : (" + x + ", " + affine + ", " + affine + ") -> " + x +
                                       "\n%1 = \"nn.relu\"(%0) : (" + x + ") -> " + x + "\nnn.yield %1 : " + x));
  std::vector<float> in = randomFloats(n * channels * h * w, 1), scale = randomFloats(channels, 2), bias = randomFloats(channels, 3);
  std::vector<double> want = widened(in);
  int64_t perGroup = channels / groups;
  auto at = [&](int64_t image, int64_t c, int64_t p) -> double & {
    return want[channelsLast ? (image * h * w + p) * channels + c : (image * channels + c) * h * w + p];
  };
  for (int64_t image = 0; image < n; ++image)
    for (int64_t g = 0; g < groups; ++g)
      normalise(perGroup * h * w, 1e-5, true, [&](int64_t i) -> double & {
        return at(image, g * perGroup + i / (h * w), i % (h * w));
      });
  for (int64_t image = 0; image < n; ++image)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < h * w; ++p)
        at(image, c, p) = std::max(at(image, c, p) * scale[c] + bias[c], 0.0);
  Buffer<float> buffer(in), s(scale), t(bias), out(in.size());
  ASSERT_EQ(kernel.run({buffer, s, t, out}), rt::KernelOk);
  expectNear(out.values(), rounded(want), 1e-5, 1e-5);
}
} // namespace

TEST(GroupNorm, RowMajor) { checkGroupNorm("group_norm %a0 scale %a1 bias %a2 {groups = 3}", 12, 3, false); }
TEST(GroupNorm, ChannelsLast) { checkGroupNorm("group_norm %a0 scale %a1 bias %a2 {groups = 3}", 12, 3, true); }
TEST(GroupNorm, OneChannelEach) { checkGroupNorm("group_norm %a0 scale %a1 bias %a2 {groups = 20}", 20, 20, true); }
TEST(InstanceNorm, RowMajor) { checkGroupNorm("instance_norm %a0 scale %a1 bias %a2", 20, 20, false); }
TEST(InstanceNorm, ChannelsLast) { checkGroupNorm("instance_norm %a0 scale %a1 bias %a2", 20, 20, true); }
