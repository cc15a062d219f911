// Max and average pools against plain loops: geometry, borders, both memory orders, element types, fused chains.

#include "test/unit/codegen/KernelHarness.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

struct Case {
  int64_t n = 1, c = 1, h = 1, w = 1, kernel = 2, stride = 2, dilation = 1, pad = 0, endPad = -1;
  bool average = false, includesPad = false, ceil = false, rowMajor = false, dynamicBatch = false;
  std::string element = "f32";
  std::string epilogue = ""; ///< an op of the form "nn.relu"

  int64_t padEnd() const { return endPad < 0 ? pad : endPad; }
  int64_t outputs(int64_t extent) const {
    int64_t span = extent + pad + padEnd() - (kernel - 1) * dilation - 1;
    int64_t count = (ceil ? (span + stride - 1) / stride : span / stride) + 1;
    return ceil && (count - 1) * stride >= extent + pad ? count - 1 : count;
  }
};

std::string irOf(const Case &t) {
  auto tensor = [&](int64_t h, int64_t w) {
    std::ostringstream type;
    type << "tensor<" << (t.dynamicBatch ? "?" : std::to_string(t.n)) << "x" << t.c << "x" << h << "x" << w << "x"
         << t.element << ", #nn.enc<[" << (t.dynamicBatch ? "N" : "") << "]"
         << (t.rowMajor ? "" : ", order = [0, 2, 3, 1]") << ">>";
    return type.str();
  };
  std::string x = tensor(t.h, t.w), y = tensor(t.outputs(t.h), t.outputs(t.w));
  auto pair = [](int64_t value) {
    return "array<i64: " + std::to_string(value) + ", " + std::to_string(value) + ">";
  };
  std::ostringstream os;
  os << "module attributes {nn.dims = [#nn.dim<\"N\", 1, 64>]} {\n"
     << "func.func @f(%x: " << x << ") -> " << y << " {\n"
     << "%k = nn.kernel \"pool\" (%a = %x : " << x << ") -> " << y << " {\n"
     << "%0 = nn." << (t.average ? "avg" : "max") << "_pool %a {kernel = " << pair(t.kernel)
     << ", strides = " << pair(t.stride) << ", dilations = " << pair(t.dilation)
     << ", pads_begin = " << pair(t.pad) << ", pads_end = " << pair(t.padEnd())
     << (t.ceil ? ", ceil_mode" : "") << (t.includesPad ? ", count_include_pad" : "") << "} : " << x
     << " -> " << y << "\n";
  std::string last = "%0";
  if (!t.epilogue.empty()) {
    os << "%1 = \"" << t.epilogue << "\"(%0) : (" << y << ") -> " << y << "\n";
    last = "%1";
  }
  os << "nn.yield " << last << " : " << y << "\n}\nreturn %k : " << y << "\n}\n}\n";
  return os.str();
}

/// What PyTorch's documentation says, element by element.
template <typename T>
std::vector<T> reference(const Case &t, const std::vector<T> &x, std::function<double(double)> then) {
  int64_t oh = t.outputs(t.h), ow = t.outputs(t.w);
  std::vector<T> y(t.n * t.c * oh * ow);
  auto at = [&](int64_t n, int64_t c, int64_t h, int64_t w, int64_t height, int64_t width) {
    return t.rowMajor ? ((n * t.c + c) * height + h) * width + w : ((n * height + h) * width + w) * t.c + c;
  };
  for (int64_t n = 0; n < t.n; ++n)
    for (int64_t c = 0; c < t.c; ++c)
      for (int64_t i = 0; i < oh; ++i)
        for (int64_t j = 0; j < ow; ++j) {
          double sum = 0, largest = -std::numeric_limits<double>::infinity();
          int64_t inside = 0, padded = 0;
          for (int64_t ki = 0; ki < t.kernel; ++ki)
            for (int64_t kj = 0; kj < t.kernel; ++kj) {
              int64_t h = i * t.stride - t.pad + ki * t.dilation, w = j * t.stride - t.pad + kj * t.dilation;
              padded += h < t.h + t.padEnd() && w < t.w + t.padEnd();
              if (h < 0 || h >= t.h || w < 0 || w >= t.w)
                continue;
              double value = static_cast<double>(x[at(n, c, h, w, t.h, t.w)]);
              ++inside;
              sum += value;
              if (value > largest || std::isnan(value))
                largest = value;
            }
          double result = t.average ? sum / static_cast<double>(t.includesPad ? padded : inside) : largest;
          y[at(n, c, i, j, oh, ow)] = static_cast<T>(then ? then(result) : result);
        }
  return y;
}

template <typename T>
void checkOn(const Case &t, const std::vector<T> &input, std::function<double(double)> then = {}) {
  CompiledKernel kernel(irOf(t));
  Buffer<T> x(input), y(reference(t, input, then).size());
  y.poison();
  ASSERT_EQ(kernel.run({x, y}, {t.n}), rt::KernelOk);
  double tolerance = sizeof(T) == 2 ? 1e-3 : 1e-6;
  expectNear(y.values(), reference(t, input, then), tolerance, tolerance);
}

void check(const Case &t, std::function<double(double)> then = {}) {
  checkOn<float>(t, randomFloats(t.n * t.c * t.h * t.w, 7), then);
}

template <typename T> void checkIntegers(const Case &t, int low, int high) {
  std::vector<T> input;
  for (float value : randomFloats(t.n * t.c * t.h * t.w, 3, low, high))
    input.push_back(static_cast<T>(value));
  checkOn<T>(t, input);
}

} // namespace

TEST(MaxPool, TwoByTwo) { check({.n = 2, .c = 32, .h = 8, .w = 10}); }
TEST(MaxPool, TailOfChannels) { check({.n = 2, .c = 83, .h = 6, .w = 6}); }
TEST(MaxPool, OneChannel) { check({.n = 3, .c = 1, .h = 28, .w = 28}); }
TEST(MaxPool, PaddedThreeByThree) { check({.c = 64, .h = 13, .w = 11, .kernel = 3, .stride = 2, .pad = 1}); }
TEST(MaxPool, Overlapping) { check({.c = 20, .h = 9, .w = 9, .kernel = 3, .stride = 1, .pad = 1}); }
TEST(MaxPool, Dilated) { check({.c = 17, .h = 12, .w = 13, .kernel = 3, .stride = 2, .dilation = 3, .pad = 2}); }
TEST(MaxPool, CeilMode) { check({.c = 16, .h = 8, .w = 7, .kernel = 3, .stride = 2, .ceil = true}); }
TEST(MaxPool, CeilModeDropsAWindowInThePadding) { check({.c = 16, .h = 5, .w = 6, .kernel = 2, .stride = 3, .pad = 1, .ceil = true}); }
TEST(MaxPool, LargeWindow) { check({.c = 19, .h = 14, .w = 14, .kernel = 9, .stride = 3, .pad = 4}); }
TEST(MaxPool, RowMajor) { check({.n = 2, .c = 5, .h = 9, .w = 8, .kernel = 3, .stride = 2, .pad = 1, .rowMajor = true}); }
TEST(MaxPool, DynamicBatch) { check({.n = 5, .c = 16, .h = 6, .w = 6, .dynamicBatch = true}); }
TEST(MaxPool, Relu) {
  check({.c = 24, .h = 6, .w = 6, .epilogue = "nn.relu"}, [](double x) { return std::max(x, 0.0); });
}
TEST(MaxPool, NaNWins) {
  Case t{.c = 16, .h = 4, .w = 4};
  for (int64_t place = 0; place < 4; ++place) {
    std::vector<float> x(t.c * t.h * t.w, 1.0f);
    x[((place / 2) * t.w + place % 2) * t.c + 3] = NAN;
    checkOn<float>(t, x);
  }
}
TEST(MaxPool, OfMinusInfinity) {
  Case t{.c = 16, .h = 4, .w = 4};
  checkOn<float>(t, std::vector<float>(t.c * t.h * t.w, -std::numeric_limits<float>::infinity()));
}
TEST(MaxPool, Bytes) {
  checkIntegers<int8_t>({.c = 70, .h = 6, .w = 6, .kernel = 3, .stride = 2, .pad = 1, .element = "i8"}, -128, 128);
  checkIntegers<uint8_t>({.c = 70, .h = 6, .w = 6, .kernel = 3, .stride = 2, .pad = 1, .element = "ui8"}, 0, 256);
}
TEST(MaxPool, Integers) { checkIntegers<int64_t>({.c = 9, .h = 6, .w = 6, .element = "i64"}, -1000, 1000); }

TEST(AvgPool, TwoByTwo) { check({.n = 2, .c = 48, .h = 8, .w = 10, .average = true}); }
TEST(AvgPool, WithoutPadding) { check({.c = 33, .h = 9, .w = 7, .kernel = 3, .stride = 2, .pad = 1, .average = true}); }
TEST(AvgPool, CountingPadding) {
  check({.c = 33, .h = 9, .w = 7, .kernel = 3, .stride = 2, .pad = 1, .average = true, .includesPad = true});
}
TEST(AvgPool, CeilMode) {
  for (bool includesPad : {false, true})
    check({.c = 18, .h = 8, .w = 9, .kernel = 3, .stride = 2, .pad = 1, .average = true, .includesPad = includesPad, .ceil = true});
}
TEST(AvgPool, Global) { check({.n = 2, .c = 100, .h = 7, .w = 7, .kernel = 7, .stride = 1, .average = true}); }
TEST(AvgPool, RowMajor) {
  check({.n = 2, .c = 3, .h = 9, .w = 8, .kernel = 3, .stride = 2, .pad = 1, .average = true, .rowMajor = true});
}
TEST(AvgPool, Half) {
  Case t{.c = 40, .h = 9, .w = 8, .kernel = 3, .stride = 2, .pad = 1, .average = true, .element = "f16"};
  std::vector<_Float16> x;
  for (float value : randomFloats(t.c * t.h * t.w, 5))
    x.push_back(static_cast<_Float16>(value));
  checkOn<_Float16>(t, x);
}
TEST(AvgPool, Double) {
  Case t{.c = 20, .h = 9, .w = 8, .kernel = 3, .stride = 2, .pad = 1, .average = true, .element = "f64"};
  std::vector<double> x;
  for (float value : randomFloats(t.c * t.h * t.w, 5))
    x.push_back(value);
  checkOn<double>(t, x);
}
