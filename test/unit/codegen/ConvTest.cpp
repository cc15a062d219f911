// Convolution kernels against plain loops: geometry, groups, bands, fused chains, both input orders.

#include "test/unit/codegen/KernelHarness.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <sstream>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

/// A 2-D convolution; all sizes per spatial dimension are H, W.
struct Case {
  int64_t n = 1, c = 1, h = 1, w = 1, o = 1, kh = 1, kw = 1;
  int64_t sh = 1, sw = 1, dh = 1, dw = 1, ph = 0, pw = 0, ph2 = -1, pw2 = -1, groups = 1;
  bool bias = true, relu = false, residual = false, rowMajorInput = false, dynamicBatch = false;
  int64_t poolKernel = 0, poolStride = 1, poolPad = 0; ///< a max pool behind it, when poolKernel > 0
  bool averages = false;                               ///< an average pool instead

  int64_t pooled(int64_t extent) const {
    return poolKernel ? (extent + 2 * poolPad - poolKernel) / poolStride + 1 : extent;
  }

  bool isDepthwise() const { return groups > 1 && groups == c && groups == o; }
  int64_t endPadH() const { return ph2 < 0 ? ph : ph2; }
  int64_t endPadW() const { return pw2 < 0 ? pw : pw2; }
  int64_t oh() const { return (h + ph + endPadH() - (kh - 1) * dh - 1) / sh + 1; }
  int64_t ow() const { return (w + pw + endPadW() - (kw - 1) * dw - 1) / sw + 1; }
};

/// Channels of a packed weight's innermost loop on the machine that runs the test: a panel's columns, or a depthwise weight's
/// lanes.
int64_t nativeColumns(const Case &t) {
  auto target = codegen::cpuTargetNamed("native");
  return t.isDepthwise() ? target->lanes(32) : target->tileVectors() * target->lanes(32);
}

std::string irOf(const Case &t, int64_t columns) {
  std::ostringstream os;
  auto tensor = [&](int64_t c, int64_t h, int64_t w, bool rowMajor) {
    std::ostringstream type;
    type << "tensor<" << (t.dynamicBatch ? "?" : std::to_string(t.n)) << "x" << c << "x" << h << "x" << w
         << "xf32, #nn.enc<[" << (t.dynamicBatch ? "N" : "") << "]" << (rowMajor ? "" : ", order = [0, 2, 3, 1]") << ">>";
    return type.str();
  };
  std::string x = tensor(t.c, t.h, t.w, t.rowMajorInput), y = tensor(t.o, t.oh(), t.ow(), false);
  std::string result = tensor(t.o, t.pooled(t.oh()), t.pooled(t.ow()), false);
  int64_t og = t.o / t.groups, cg = t.c / t.groups, panels = (og + columns - 1) / columns;
  std::ostringstream weight;
  if (t.isDepthwise())
    weight << "tensor<" << t.o << "x1x" << t.kh << "x" << t.kw << "xf32, #nn.enc<[], pack = <[2, " << t.kh << ", 1], [3, "
           << t.kw << ", 1], [0, " << (t.o + columns - 1) / columns * columns << ", 1]>>>";
  else
    weight << "tensor<" << t.o << "x" << cg << "x" << t.kh << "x" << t.kw << "xf32, #nn.enc<[], pack = <[0, " << t.groups << ", "
         << og << "], [0, " << panels << ", " << columns << "], [2, " << t.kh << ", 1], [3, " << t.kw << ", 1], [1, " << cg
         << ", 1], [0, " << columns << ", 1]>>>";
  std::string w = weight.str();
  os << "module attributes {nn.dims = [#nn.dim<\"N\", 1, 64>]} {\n";
  std::string bias = "tensor<" + std::to_string(t.o) + "xf32>";
  os << "func.func @f(%x: " << x << ", %w: " << w << ", %b: " << bias << ", %r: " << y << ") -> " << result << " {\n";
  os << "%k = nn.kernel \"conv\" (%x0 = %x : " << x << ", %w0 = %w : " << w << ", %b0 = %b : " << bias << ", %r0 = %r : " << y
     << ") -> " << result << " {\n";
  os << "%0 = nn.conv %x0, %w0 " << (t.bias ? "bias %b0 " : "") << "{strides = array<i64: " << t.sh << ", " << t.sw
     << ">, dilations = array<i64: " << t.dh << ", " << t.dw << ">, pads_begin = array<i64: " << t.ph << ", " << t.pw
     << ">, pads_end = array<i64: " << t.endPadH() << ", " << t.endPadW() << ">, groups = " << t.groups << " : i64} : (" << x
     << ", " << w << (t.bias ? ", " + bias : "") << ") -> " << y << "\n";
  std::string last = "%0";
  if (t.residual) {
    os << "%1 = nn.add " << last << ", %r0 : (" << y << ", " << y << ") -> " << y << "\n";
    last = "%1";
  }
  if (t.relu) {
    os << "%2 = nn.relu " << last << " : " << y << "\n";
    last = "%2";
  }
  if (t.poolKernel) {
    auto pair = [](int64_t value) { return "array<i64: " + std::to_string(value) + ", " + std::to_string(value) + ">"; };
    os << "%3 = nn." << (t.averages ? "avg_pool " : "max_pool ") << last << " {kernel = " << pair(t.poolKernel)
       << ", strides = " << pair(t.poolStride) << ", dilations = " << pair(1) << ", pads_begin = " << pair(t.poolPad)
       << ", pads_end = " << pair(t.poolPad) << "} : " << y << " -> " << result << "\n";
    last = "%3";
  }
  os << "nn.yield " << last << " : " << result << "\n}\nreturn %k : " << result << "\n}\n}\n";
  return os.str();
}

std::vector<float> packedWeight(const Case &t, const std::vector<float> &w, int64_t columns) {
  int64_t og = t.o / t.groups, cg = t.c / t.groups, panels = (og + columns - 1) / columns;
  std::vector<float> packed;
  if (t.isDepthwise()) {
    for (int64_t k = 0; k < t.kh * t.kw; ++k)
      for (int64_t c = 0; c < (t.o + columns - 1) / columns * columns; ++c)
        packed.push_back(c < t.o ? w[c * t.kh * t.kw + k] : 0.0f);
    return packed;
  }
  for (int64_t g = 0; g < t.groups; ++g)
    for (int64_t p = 0; p < panels; ++p)
      for (int64_t k = 0; k < t.kh * t.kw; ++k)
        for (int64_t c = 0; c < cg; ++c)
          for (int64_t j = 0; j < columns; ++j) {
            int64_t o = p * columns + j;
            packed.push_back(o < og ? w[((g * og + o) * cg + c) * t.kh * t.kw + k] : 0.0f);
          }
  return packed;
}

/// The max or average over each window, of the positions inside the image.
std::vector<float> pool(const Case &t, const std::vector<float> &y) {
  std::vector<float> pooled;
  for (int64_t n = 0; n < t.n; ++n)
    for (int64_t ph = 0; ph < t.pooled(t.oh()); ++ph)
      for (int64_t pw = 0; pw < t.pooled(t.ow()); ++pw)
        for (int64_t o = 0; o < t.o; ++o) {
          double best = -INFINITY, sum = 0;
          int64_t count = 0;
          for (int64_t h = ph * t.poolStride - t.poolPad; h < ph * t.poolStride - t.poolPad + t.poolKernel; ++h)
            for (int64_t w = pw * t.poolStride - t.poolPad; w < pw * t.poolStride - t.poolPad + t.poolKernel; ++w)
              if (h >= 0 && h < t.oh() && w >= 0 && w < t.ow()) {
                double value = y[((n * t.oh() + h) * t.ow() + w) * t.o + o];
                best = std::max(best, value);
                sum += value;
                ++count;
              }
          pooled.push_back(t.averages ? sum / count : best);
        }
  return pooled;
}

void check(const Case &t) {
  int64_t columns = nativeColumns(t), cg = t.c / t.groups, og = t.o / t.groups;
  std::vector<float> x = randomFloats(t.n * t.c * t.h * t.w, 1), w = randomFloats(t.o * cg * t.kh * t.kw, 2),
                     bias = randomFloats(t.o, 3), residual = randomFloats(t.n * t.oh() * t.ow() * t.o, 4);
  auto at = [&](int64_t n, int64_t c, int64_t h, int64_t v) {
    return t.rowMajorInput ? x[((n * t.c + c) * t.h + h) * t.w + v] : x[((n * t.h + h) * t.w + v) * t.c + c];
  };
  std::vector<float> want;
  for (int64_t n = 0; n < t.n; ++n)
    for (int64_t oh = 0; oh < t.oh(); ++oh)
      for (int64_t ow = 0; ow < t.ow(); ++ow)
        for (int64_t o = 0; o < t.o; ++o) {
          double sum = t.bias ? bias[o] : 0;
          for (int64_t c = 0; c < cg; ++c)
            for (int64_t kh = 0; kh < t.kh; ++kh)
              for (int64_t kw = 0; kw < t.kw; ++kw) {
                int64_t ih = oh * t.sh + kh * t.dh - t.ph, iw = ow * t.sw + kw * t.dw - t.pw;
                if (ih >= 0 && ih < t.h && iw >= 0 && iw < t.w)
                  sum += double(at(n, o / og * cg + c, ih, iw)) * w[((o * cg + c) * t.kh + kh) * t.kw + kw];
              }
          if (t.residual)
            sum += residual[want.size()];
          want.push_back(t.relu ? std::max(sum, 0.0) : sum);
        }

  if (t.poolKernel)
    want = pool(t, want);

  CompiledKernel kernel(irOf(t, columns));
  std::vector<float> packed = packedWeight(t, w, columns), got(want.size(), NAN);
  ASSERT_EQ(kernel.run({x.data(), packed.data(), bias.data(), residual.data(), got.data()}, {t.n}), 0);
  expectNear(got, want, 1e-4, 1e-4);
}

} // namespace

TEST(Conv, ThreeByThree) { check({.c = 32, .h = 14, .w = 15, .o = 48, .kh = 3, .kw = 3, .ph = 1, .pw = 1}); }
TEST(Conv, OneByOne) { check({.n = 2, .c = 24, .h = 9, .w = 7, .o = 40, .relu = true}); }
TEST(Conv, TailOfColumns) { check({.c = 17, .h = 8, .w = 8, .o = 21, .kh = 3, .kw = 3, .ph = 1, .pw = 1}); }
TEST(Conv, FewOutputs) { check({.c = 20, .h = 6, .w = 6, .o = 3, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .bias = false}); }
TEST(Conv, FewChannels) { check({.c = 3, .h = 20, .w = 22, .o = 16, .kh = 7, .kw = 7, .sh = 2, .sw = 2, .ph = 3, .pw = 3, .relu = true}); }
TEST(Conv, FewChannelsRowMajor) { check({.n = 2, .c = 3, .h = 30, .w = 31, .o = 20, .kh = 5, .kw = 3, .sh = 2, .ph = 2, .pw = 1, .rowMajorInput = true}); }
TEST(Conv, RowMajorDilatedColumns) { check({.c = 2, .h = 12, .w = 13, .o = 8, .kh = 3, .kw = 3, .dh = 2, .dw = 2, .ph = 2, .pw = 2, .rowMajorInput = true}); }
TEST(Conv, ManyChannelsRowMajor) { check({.c = 33, .h = 7, .w = 9, .o = 24, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .rowMajorInput = true}); }
TEST(Conv, StrideAndDilation) { check({.c = 18, .h = 21, .w = 19, .o = 16, .kh = 3, .kw = 3, .sh = 2, .sw = 3, .dh = 2, .dw = 3, .ph = 2, .pw = 3}); }
TEST(Conv, AsymmetricPadding) { check({.c = 16, .h = 8, .w = 9, .o = 16, .kh = 4, .kw = 2, .ph = 1, .pw = 0, .ph2 = 2, .pw2 = 1}); }
TEST(Conv, Groups) { check({.n = 2, .c = 40, .h = 7, .w = 7, .o = 60, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .groups = 4, .relu = true}); }
TEST(Conv, Residual) { check({.n = 2, .c = 32, .h = 12, .w = 12, .o = 36, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .relu = true, .residual = true}); }
TEST(Conv, DynamicBatch) { check({.n = 3, .c = 19, .h = 9, .w = 9, .o = 33, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .relu = true, .residual = true, .dynamicBatch = true}); }
TEST(Conv, ManyBands) { check({.c = 16, .h = 40, .w = 37, .o = 16, .kh = 3, .kw = 3, .ph = 1, .pw = 1}); }
TEST(Conv, WindowLargerThanInput) { check({.c = 16, .h = 2, .w = 3, .o = 16, .kh = 5, .kw = 5, .ph = 2, .pw = 2}); }

TEST(DepthwiseConv, ThreeByThree) { check({.n = 2, .c = 40, .h = 14, .w = 15, .o = 40, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .groups = 40, .relu = true}); }
TEST(DepthwiseConv, Strided) { check({.c = 24, .h = 29, .w = 28, .o = 24, .kh = 3, .kw = 3, .sh = 2, .sw = 2, .ph = 1, .pw = 1, .groups = 24}); }
TEST(DepthwiseConv, ChannelTail) { check({.c = 37, .h = 7, .w = 7, .o = 37, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .groups = 37, .residual = true}); }
TEST(DepthwiseConv, FiveByFiveDilated) { check({.c = 16, .h = 11, .w = 23, .o = 16, .kh = 5, .kw = 5, .dh = 2, .dw = 1, .ph = 4, .pw = 2, .groups = 16, .bias = false}); }
TEST(DepthwiseConv, NoPadding) { check({.c = 9, .h = 6, .w = 6, .o = 9, .kh = 2, .kw = 3, .groups = 9, .dynamicBatch = true}); }

TEST(ConvPool, MaxTwoByTwo) { check({.n = 2, .c = 16, .h = 14, .w = 14, .o = 32, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .relu = true, .poolKernel = 2, .poolStride = 2}); }
TEST(ConvPool, FewChannels) { check({.c = 1, .h = 28, .w = 28, .o = 16, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .relu = true, .rowMajorInput = true, .dynamicBatch = true, .poolKernel = 2, .poolStride = 2}); }
TEST(ConvPool, OverlappingPaddedWindows) { check({.c = 3, .h = 41, .w = 43, .o = 20, .kh = 7, .kw = 7, .sh = 2, .sw = 2, .ph = 3, .pw = 3, .relu = true, .rowMajorInput = true, .poolKernel = 3, .poolStride = 2, .poolPad = 1}); }
TEST(ConvPool, Average) { check({.c = 24, .h = 13, .w = 11, .o = 19, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .poolKernel = 3, .poolStride = 3, .poolPad = 1, .averages = true}); }
TEST(ConvPool, Residual) { check({.c = 16, .h = 9, .w = 9, .o = 16, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .relu = true, .residual = true, .poolKernel = 2, .poolStride = 2}); }
TEST(ConvPool, Groups) { check({.c = 32, .h = 8, .w = 8, .o = 48, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .groups = 2, .poolKernel = 2, .poolStride = 2}); }
