// Reductions against plain loops: every choice of axes in both memory orders, tails, fused chains, positions, integers.

#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/KernelText.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

constexpr int64_t kShape[4] = {2, 5, 3, 37};

std::string tensor(const std::string &shape, const std::string &encoding = "") {
  return "tensor<" + shape + (encoding.empty() ? "" : ", #nn.enc<" + encoding + ">") + ">";
}

struct Case {
  std::vector<int64_t> axes;
  bool channelsLast = false, keepDims = false;
};

std::string resultShape(const Case &t) {
  std::string shape;
  for (int64_t dim = 0; dim < 4; ++dim) {
    bool isReduced = std::count(t.axes.begin(), t.axes.end(), dim);
    if (isReduced && !t.keepDims)
      continue;
    shape += (isReduced ? "1" : std::to_string(kShape[dim])) + "x";
  }
  return shape;
}

/// Reduces `x`, in the case's memory order, in double.
template <typename T, typename Fold>
std::vector<double> reference(const Case &t, const std::vector<T> &x, double start, Fold fold) {
  size_t size = 1;
  for (int64_t dim = 0; dim < 4; ++dim)
    if (!std::count(t.axes.begin(), t.axes.end(), dim))
      size *= kShape[dim];
  std::vector<double> result(size, start);
  int64_t i[4];
  for (i[0] = 0; i[0] < kShape[0]; ++i[0])
    for (i[1] = 0; i[1] < kShape[1]; ++i[1])
      for (i[2] = 0; i[2] < kShape[2]; ++i[2])
        for (i[3] = 0; i[3] < kShape[3]; ++i[3]) {
          int64_t from = t.channelsLast ? ((i[0] * kShape[2] + i[2]) * kShape[3] + i[3]) * kShape[1] + i[1]
                                        : ((i[0] * kShape[1] + i[1]) * kShape[2] + i[2]) * kShape[3] + i[3];
          int64_t to = 0;
          for (int64_t dim = 0; dim < 4; ++dim)
            if (!std::count(t.axes.begin(), t.axes.end(), dim))
              to = to * kShape[dim] + i[dim];
          result[to] = fold(result[to], static_cast<double>(x[from]));
        }
  return result;
}

std::string axesText(const Case &t) {
  std::string text;
  for (int64_t axis : t.axes)
    text += (text.empty() ? "" : ", ") + std::to_string(axis);
  return "axes = array<i64: " + text + ">" + (t.keepDims ? ", keepdims" : "");
}

void check(const Case &t) {
  std::string x = tensor("2x5x3x37xf32", t.channelsLast ? "[], order = [0, 2, 3, 1]" : "");
  std::string y = tensor(resultShape(t) + "f32");
  std::vector<float> in = randomFloats(2 * 5 * 3 * 37, 1);
  int64_t count = 1;
  for (int64_t axis : t.axes)
    count *= kShape[axis];
  auto run = [&](const std::string &op, const std::vector<double> &want) {
    // With a prologue, and an epilogue on the result.
    CompiledKernel kernel(kernelText({x}, {y},
                                     "%0 = nn.add %a0, %a0 : (" + x + ", " + x + ") -> " + x + "\n%1 = nn." + op + " %0 {" +
                                         axesText(t) + "} : " + x + " -> " + y + "\n%2 = nn.add %1, %1 : (" + y + ", " + y +
                                         ") -> " + y + "\nnn.yield %2 : " + y));
    Buffer<float> buffer(in), out(want.size());
    ASSERT_EQ(kernel.run({buffer, out}), rt::KernelOk);
    std::vector<float> expected;
    for (double value : want)
      expected.push_back(static_cast<float>(value));
    expectNear(out.values(), expected, 1e-4, 1e-5);
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto times4 = [](std::vector<double> values, double factor = 1) {
    for (double &value : values)
      value *= 4 * factor;
    return values;
  };
  auto add = [](double a, double b) { return a + b; };
  run("reduce_sum", times4(reference(t, in, 0, add)));
  run("reduce_mean", times4(reference(t, in, 0, add), 1.0 / count));
  run("reduce_max", times4(reference(t, in, -infinity, [](double a, double b) { return std::max(a, b); })));
  run("reduce_min", times4(reference(t, in, infinity, [](double a, double b) { return std::min(a, b); })));
}

} // namespace

TEST(Reduction, LastAxis) { check({.axes = {3}}); }
TEST(Reduction, FirstAxis) { check({.axes = {0}}); }
TEST(Reduction, MiddleAxes) { check({.axes = {1, 2}, .keepDims = true}); }
TEST(Reduction, SpatialAxes) { check({.axes = {2, 3}}); }
TEST(Reduction, OuterAndInnerAxis) { check({.axes = {0, 3}}); }
TEST(Reduction, AllAxes) { check({.axes = {0, 1, 2, 3}}); }
TEST(Reduction, ChannelsLastSpatialAxes) { check({.axes = {2, 3}, .channelsLast = true, .keepDims = true}); }
TEST(Reduction, ChannelsLastChannels) { check({.axes = {1}, .channelsLast = true}); }
TEST(Reduction, ChannelsLastAllButBatch) { check({.axes = {1, 2, 3}, .channelsLast = true}); }

TEST(Reduction, GlobalAveragePoolOverADynamicBatch) {
  std::string x = tensor("?x100x7x7xf32", "[N], order = [0, 2, 3, 1]"), y = tensor("?x100xf32", "[N]");
  CompiledKernel kernel(kernelText({x}, {y},
                                   "%0 = nn.reduce_mean %a0 {axes = array<i64: 2, 3>} : " + x + " -> " + y + "\nnn.yield %0 : " + y));
  std::vector<float> in = randomFloats(3 * 4900, 1), want(300);
  for (int n = 0; n < 3; ++n)
    for (int c = 0; c < 100; ++c) {
      double sum = 0;
      for (int p = 0; p < 49; ++p)
        sum += in[(n * 49 + p) * 100 + c];
      want[n * 100 + c] = static_cast<float>(sum / 49);
    }
  Buffer<float> buffer(in), out(300);
  ASSERT_EQ(kernel.run({buffer, out}, {3}), rt::KernelOk);
  expectNear(out.values(), want, 1e-6, 1e-5);
}

TEST(Reduction, PositionOfTheFirstLargest) {
  for (int axis : {0, 1}) {
    std::string x = tensor("6x43xf32"), y = tensor(axis == 0 ? "43xi64" : "6xi64");
    CompiledKernel kernel(kernelText({x}, {y},
                                     "%0 = nn.argmax %a0 {axis = " + std::to_string(axis) + "} : " + x + " -> " + y +
                                         "\nnn.yield %0 : " + y));
    std::vector<float> in;
    for (float value : randomFloats(6 * 43, 4, 0, 5))
      in.push_back(std::floor(value)); // many equal values
    std::vector<int64_t> want;
    int kept = axis == 0 ? 43 : 6, reduced = axis == 0 ? 6 : 43;
    for (int i = 0; i < kept; ++i) {
      int best = 0;
      auto at = [&](int k) { return axis == 0 ? in[k * 43 + i] : in[i * 43 + k]; };
      for (int k = 1; k < reduced; ++k)
        if (at(k) > at(best))
          best = k;
      want.push_back(best);
    }
    Buffer<float> buffer(in);
    Buffer<int64_t> out(want.size());
    ASSERT_EQ(kernel.run({buffer, out}), rt::KernelOk);
    EXPECT_EQ(out.values(), want);
  }
}

TEST(Reduction, NaNWinsTheMaximum) {
  std::string x = tensor("2x50xf32"), y = tensor("2xf32");
  CompiledKernel kernel(kernelText({x}, {y}, "%0 = nn.reduce_max %a0 {axes = array<i64: 1>} : " + x + " -> " + y + "\nnn.yield %0 : " + y));
  std::vector<float> in = randomFloats(100, 1);
  in[17] = NAN;
  Buffer<float> buffer(in), out(2);
  ASSERT_EQ(kernel.run({buffer, out}), rt::KernelOk);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], *std::max_element(in.begin() + 50, in.end()));
}

TEST(Reduction, Integers) {
  std::string x = tensor("3x100xi32"), y = tensor("3xi32");
  CompiledKernel kernel(kernelText({x}, {y}, "%0 = nn.reduce_sum %a0 {axes = array<i64: 1>} : " + x + " -> " + y + "\nnn.yield %0 : " + y));
  Buffer<int32_t> in(300), out(3);
  for (int i = 0; i < 300; ++i)
    in[i] = i;
  ASSERT_EQ(kernel.run({in, out}), rt::KernelOk);
  EXPECT_EQ(out.values(), (std::vector<int32_t>{4950, 14950, 24950}));
}
