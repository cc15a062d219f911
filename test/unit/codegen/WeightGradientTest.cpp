// Gradients of weights against plain loops: geometry, groups, bands, channels in several tasks, panels that are not full, both input
// orders, and matrix products with a transposed left operand.

#include "test/unit/codegen/KernelHarness.h"

#include <gtest/gtest.h>
#include <cmath>
#include <sstream>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

/// A 2-D convolution; all sizes per spatial dimension are H, W.
struct Case {
  int64_t n = 1, c = 1, h = 1, w = 1, o = 1, kh = 1, kw = 1;
  int64_t sh = 1, sw = 1, dh = 1, dw = 1, ph = 0, pw = 0, ph2 = -1, pw2 = -1, groups = 1;
  bool rowMajorInput = false, dynamicBatch = false;

  int64_t endPadH() const { return ph2 < 0 ? ph : ph2; }
  int64_t endPadW() const { return pw2 < 0 ? pw : pw2; }
  int64_t oh() const { return (h + ph + endPadH() - (kh - 1) * dh - 1) / sh + 1; }
  int64_t ow() const { return (w + pw + endPadW() - (kw - 1) * dw - 1) / sw + 1; }
};

std::string irOf(const Case &t) {
  auto tensor = [&](int64_t c, int64_t h, int64_t w, bool rowMajor) {
    std::ostringstream type;
    type << "tensor<" << (t.dynamicBatch ? "?" : std::to_string(t.n)) << "x" << c << "x" << h << "x" << w << "xf32, #nn.enc<["
         << (t.dynamicBatch ? "N" : "") << "]" << (rowMajor ? "" : ", order = [0, 2, 3, 1]") << ">>";
    return type.str();
  };
  std::string x = tensor(t.c, t.h, t.w, t.rowMajorInput), g = tensor(t.o, t.oh(), t.ow(), false);
  std::ostringstream weight;
  weight << "tensor<" << t.o << "x" << t.c / t.groups << "x" << t.kh << "x" << t.kw << "xf32>";
  std::string w = weight.str();
  std::ostringstream os;
  os << "module attributes {nn.dims = [#nn.dim<\"N\", 1, 1000>]} {\nfunc.func @f(%x: " << x << ", %g: " << g << ") -> " << w
     << " {\n%k = nn.kernel \"k\" (%x0 = %x : " << x << ", %g0 = %g : " << g << ") -> " << w
     << " {\n%0 = nn.conv_weight_gradient %x0, %g0 {strides = array<i64: " << t.sh << ", " << t.sw << ">, dilations = array<i64: "
     << t.dh << ", " << t.dw << ">, pads_begin = array<i64: " << t.ph << ", " << t.pw << ">, pads_end = array<i64: " << t.endPadH()
     << ", " << t.endPadW() << ">, groups = " << t.groups << " : i64} : (" << x << ", " << g << ") -> " << w << "\nnn.yield %0 : "
     << w << "\n}\nreturn %k : " << w << "\n}\n}\n";
  return os.str();
}

void check(const Case &t) {
  std::vector<float> x = randomFloats(t.n * t.c * t.h * t.w, 1), g = randomFloats(t.n * t.o * t.oh() * t.ow(), 2);
  int64_t cg = t.c / t.groups, og = t.o / t.groups;
  auto input = [&](int64_t n, int64_t c, int64_t h, int64_t w) -> double {
    if (h < 0 || h >= t.h || w < 0 || w >= t.w)
      return 0;
    return t.rowMajorInput ? x[((n * t.c + c) * t.h + h) * t.w + w] : x[((n * t.h + h) * t.w + w) * t.c + c];
  };
  std::vector<float> want;
  for (int64_t o = 0; o < t.o; ++o)
    for (int64_t c = 0; c < cg; ++c)
      for (int64_t kh = 0; kh < t.kh; ++kh)
        for (int64_t kw = 0; kw < t.kw; ++kw) {
          double sum = 0;
          for (int64_t n = 0; n < t.n; ++n)
            for (int64_t h = 0; h < t.oh(); ++h)
              for (int64_t w = 0; w < t.ow(); ++w)
                sum += g[((n * t.oh() + h) * t.ow() + w) * t.o + o] *
                       input(n, o / og * cg + c, h * t.sh + kh * t.dh - t.ph, w * t.sw + kw * t.dw - t.pw);
          want.push_back(sum);
        }
  CompiledKernel kernel(irOf(t));
  std::vector<float> got(want.size(), NAN), whole(want.size(), NAN);
  ASSERT_EQ(kernel.run({x.data(), g.data(), got.data()}, {t.n}), 0);
  expectNear(got, want, 1e-4, 1e-4);
  // However the tasks are cut, each sum is added up in the same order.
  ASSERT_EQ(kernel.runWhole({x.data(), g.data(), whole.data()}, {t.n}), 0);
  EXPECT_EQ(got, whole);
}

struct Product {
  int64_t batch = 0; ///< 0: rank 2
  int64_t m = 1, k = 1, n = 1;
  bool dynamicK = false;
};

void check(const Product &t) {
  int64_t batch = std::max<int64_t>(t.batch, 1);
  std::vector<float> x = randomFloats(batch * t.k * t.m, 1), y = randomFloats(batch * t.k * t.n, 2), want;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t m = 0; m < t.m; ++m)
      for (int64_t n = 0; n < t.n; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < t.k; ++k)
          sum += double(x[(b * t.k + k) * t.m + m]) * y[(b * t.k + k) * t.n + n];
        want.push_back(sum);
      }
  std::string lead = t.batch ? std::to_string(t.batch) + "x" : "", k = t.dynamicK ? "?" : std::to_string(t.k);
  std::string dims = t.dynamicK ? "xf32, #nn.enc<[N]>>" : "xf32>";
  std::string lhs = "tensor<" + lead + k + "x" + std::to_string(t.m) + dims, rhs = "tensor<" + lead + k + "x" + std::to_string(t.n) + dims;
  std::string result = "tensor<" + lead + std::to_string(t.m) + "x" + std::to_string(t.n) + "xf32>";
  CompiledKernel kernel("module attributes {nn.dims = [#nn.dim<\"N\", 1, 1000>]} {\nfunc.func @f(%x: " + lhs + ", %y: " + rhs + ") -> " +
                        result + " {\n%k = nn.kernel \"k\" (%x0 = %x : " + lhs + ", %y0 = %y : " + rhs + ") -> " + result +
                        " {\n%0 = nn.matmul %x0, %y0 {transpose_lhs} : (" + lhs + ", " + rhs + ") -> " + result + "\nnn.yield %0 : " +
                        result + "\n}\nreturn %k : " + result + "\n}\n}\n");
  std::vector<float> got(want.size(), NAN);
  ASSERT_EQ(kernel.run({x.data(), y.data(), got.data()}, {t.k}), 0);
  expectNear(got, want, 1e-4, 1e-4);
}

} // namespace

TEST(WeightGradient, ThreeByThree) { check(Case{.n = 2, .c = 16, .h = 9, .w = 11, .o = 16, .kh = 3, .kw = 3, .ph = 1, .pw = 1}); }
TEST(WeightGradient, OnePosition) { check(Case{.n = 3, .c = 5, .h = 1, .w = 1, .o = 7}); }
TEST(WeightGradient, OddChannels) { check(Case{.n = 1, .c = 13, .h = 7, .w = 5, .o = 71, .kh = 3, .kw = 1, .ph = 1}); }
TEST(WeightGradient, ChannelsInSeveralTasks) {
  check(Case{.n = 2, .c = 53, .h = 6, .w = 6, .o = 9, .kh = 3, .kw = 3, .ph = 1, .pw = 1});
}
TEST(WeightGradient, ManyPanels) { check(Case{.n = 2, .c = 6, .h = 5, .w = 4, .o = 200, .kh = 2, .kw = 2}); }
TEST(WeightGradient, BandsOfRows) { check(Case{.n = 2, .c = 3, .h = 50, .w = 21, .o = 8, .kh = 3, .kw = 3, .ph = 1, .pw = 1}); }
TEST(WeightGradient, WideRows) { check(Case{.n = 1, .c = 4, .h = 3, .w = 250, .o = 6, .kh = 3, .kw = 3, .ph = 1, .pw = 1}); }
TEST(WeightGradient, RowMajorImage) {
  check(Case{.n = 2, .c = 3, .h = 30, .w = 31, .o = 20, .kh = 7, .kw = 7, .sh = 2, .sw = 2, .ph = 3, .pw = 3, .rowMajorInput = true});
}
TEST(WeightGradient, Strided) {
  check(Case{.n = 2, .c = 20, .h = 13, .w = 12, .o = 24, .kh = 3, .kw = 3, .sh = 2, .sw = 3, .ph = 1, .pw = 1});
}
TEST(WeightGradient, StridedOneByOne) { check(Case{.n = 2, .c = 40, .h = 14, .w = 14, .o = 24, .sh = 2, .sw = 2}); }
TEST(WeightGradient, Dilated) {
  check(Case{.n = 2, .c = 8, .h = 12, .w = 13, .o = 10, .kh = 3, .kw = 2, .dh = 2, .dw = 3, .ph = 2, .pw = 1});
}
TEST(WeightGradient, UnequalPads) {
  check(Case{.n = 2, .c = 5, .h = 6, .w = 7, .o = 10, .kh = 4, .kw = 3, .ph = 0, .pw = 2, .ph2 = 3, .pw2 = 0});
}
TEST(WeightGradient, PadsBeyondTheKernel) { check(Case{.n = 1, .c = 2, .h = 3, .w = 2, .o = 3, .kh = 2, .kw = 2, .ph = 3, .pw = 4}); }
TEST(WeightGradient, Groups) { check(Case{.n = 2, .c = 12, .h = 6, .w = 6, .o = 21, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .groups = 3}); }
TEST(WeightGradient, Depthwise) { check(Case{.n = 2, .c = 9, .h = 6, .w = 6, .o = 9, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .groups = 9}); }
TEST(WeightGradient, DynamicBatch) {
  check(Case{.n = 5, .c = 17, .h = 8, .w = 8, .o = 33, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .dynamicBatch = true});
}
TEST(TransposedMatmul, OneBlock) { check(Product{.m = 64, .k = 20, .n = 150}); }
TEST(TransposedMatmul, ManyRows) { check(Product{.m = 10, .k = 500, .n = 33}); }
TEST(TransposedMatmul, OneByOne) { check(Product{.m = 1, .k = 7, .n = 1}); }
TEST(TransposedMatmul, DynamicRows) { check(Product{.m = 301, .k = 197, .n = 17, .dynamicK = true}); }
TEST(TransposedMatmul, Batches) { check(Product{.batch = 3, .m = 12, .k = 100, .n = 20}); }
