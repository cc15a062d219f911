// The functions of codegen/cpu/ExpandMath.cpp against double precision of libm, in units in the last place: dense samples of the
// range that matters, the ends of it, and the special values of IEEE 754. On this machine's vectors and on x86-64-v2, which has
// no fused multiply-add, so that no formula comes to rely on one.

#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/KernelText.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Function {
  const char *op;
  double (*want)(double);
  double from, to;   ///< samples lie here
  double maxUlps;
  double negligible; ///< smaller results may be anything up to this
};

/// Named in test lists, where the bytes of the struct would stand otherwise.
void PrintTo(const Function &function, std::ostream *to) { *to << function.op; }

/// Evenly spread over [from, to], and over the exponents of both signs within it.
std::vector<float> samples(double from, double to) {
  std::vector<float> x;
  constexpr int kCount = 200000;
  for (int i = 0; i <= kCount; ++i)
    x.push_back(static_cast<float>(from + (to - from) * i / kCount));
  for (double magnitude = 1e-38; magnitude < 1e38; magnitude *= 1.00173)
    for (double value : {magnitude, -magnitude})
      if (value >= from && value <= to)
        x.push_back(static_cast<float>(value));
  return x;
}

double ulpOf(double value) {
  float magnitude = std::abs(static_cast<float>(value));
  if (std::isinf(magnitude))
    magnitude = std::numeric_limits<float>::max();
  return std::max<double>(std::nextafter(magnitude, kInf) - magnitude, std::numeric_limits<float>::denorm_min());
}

std::vector<float> evaluate(const std::string &op, const std::vector<float> &x, llvm::StringRef level) {
  std::string type = "tensor<?xf32, #nn.enc<[N]>>";
  std::string text = kernelText({type}, {type}, "%0 = nn." + op + " %a0 : " + type + "\nnn.yield %0 : " + type);
  text.replace(text.find("4096"), 4, "1048576");
  CompiledKernel kernel(text, level);
  Buffer<float> in(x), out(x.size());
  EXPECT_EQ(kernel.runWhole({in, out}, {static_cast<int64_t>(x.size())}), rt::KernelOk);
  return out.values();
}

class ExpandMath : public testing::TestWithParam<std::tuple<Function, const char *>> {};

} // namespace

TEST_P(ExpandMath, IsWithinUlpsOfLibm) {
  auto [function, level] = GetParam();
  std::vector<float> x = samples(function.from, function.to), got = evaluate(function.op, x, level);
  double worst = 0, worstAt = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double want = function.want(x[i]);
    if (std::abs(want) < function.negligible && std::abs(got[i]) <= function.negligible)
      continue;
    if (static_cast<float>(want) == got[i])
      continue;
    double ulps = std::abs(got[i] - want) / ulpOf(want);
    if (!(ulps <= worst)) {
      worst = ulps;
      worstAt = x[i];
    }
  }
  EXPECT_LE(worst, function.maxUlps) << function.op << "(" << worstAt << ")";
}

/// Underflow of exp to zero begins here; see ExpandMath.cpp.
constexpr double kExpNegligible = 0x1p-125;

INSTANTIATE_TEST_SUITE_P(
    Functions, ExpandMath,
    testing::Combine(testing::Values(Function{"exp", std::exp, -104, 90, 1.5, kExpNegligible},
                                     Function{"expm1", std::expm1, -20, 90, 3, 0},
                                     Function{"log", std::log, 0, 1e38, 1.5, 0},
                                     Function{"log", std::log, 0.25, 4, 1.5, 0},
                                     Function{"log1p", std::log1p, -1, 1e38, 3.5, 0},
                                     Function{"log1p", std::log1p, -0.75, 3, 3.5, 0},
                                     Function{"tanh", std::tanh, -12, 12, 6, 0},
                                     Function{"erf", std::erf, -5, 5, 6.5, 0},
                                     Function{"sin", std::sin, -10, 10, 2, 0},
                                     Function{"cos", std::cos, -10, 10, 2, 0},
                                     Function{"tan", std::tan, -10, 10, 4, 0},
                                     Function{"sin", std::sin, -1e6, 1e6, 2.5, 0},
                                     Function{"cos", std::cos, -1e6, 1e6, 2.5, 0},
                                     Function{"sin", std::sin, -8192, 8192, 2.5, 0},
                                     Function{"tan", std::tan, -8192, 8192, 4, 0}),
                     testing::Values("native", "x86-64-v2")),
    [](const testing::TestParamInfo<std::tuple<Function, const char *>> &info) {
      std::string name = std::get<0>(info.param).op + std::to_string(info.index) + "_" + std::get<1>(info.param);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(ExpandMath, SpecialValues) {
  struct Case {
    const char *op;
    float x, want;
  };
  const Case cases[] = {
      {"exp", kInf, kInf},      {"exp", -kInf, 0},     {"exp", kNan, kNan},     {"exp", 89, kInf},
      {"exp", 0, 1},            {"exp", -200, 0},      {"expm1", kInf, kInf},   {"expm1", -kInf, -1},
      {"expm1", kNan, kNan},    {"expm1", 0, 0},       {"log", 0, -kInf},       {"log", -0.0f, -kInf},
      {"log", kInf, kInf},      {"log", -1, kNan},     {"log", -kInf, kNan},    {"log", kNan, kNan},
      {"log", 1, 0},            {"log1p", -1, -kInf},  {"log1p", kInf, kInf},   {"log1p", -2, kNan},
      {"log1p", kNan, kNan},    {"log1p", 0, 0},       {"tanh", kInf, 1},       {"tanh", -kInf, -1},
      {"tanh", kNan, kNan},     {"tanh", 0, 0},        {"tanh", 20, 1},         {"erf", kInf, 1},
      {"erf", -kInf, -1},       {"erf", kNan, kNan},   {"erf", 0, 0},           {"erf", -6, -1},
      {"sin", kInf, kNan},      {"sin", kNan, kNan},   {"sin", 0, 0},           {"cos", -kInf, kNan},
      {"cos", kNan, kNan},      {"cos", 0, 1},         {"tan", kInf, kNan},     {"tan", 0, 0},
      {"sin", 1e30f, static_cast<float>(std::sin(double(1e30f)))},
      {"log", std::numeric_limits<float>::denorm_min(),
       static_cast<float>(std::log(double(std::numeric_limits<float>::denorm_min())))},
  };
  for (const Case &one : cases) {
    // In a whole vector and in a tail.
    for (size_t count : {1, 19}) {
      std::vector<float> got = evaluate(one.op, std::vector<float>(count, one.x), "native");
      for (float value : got) {
        if (std::isnan(one.want))
          EXPECT_TRUE(std::isnan(value)) << one.op << "(" << one.x << ") = " << value;
        else
          EXPECT_EQ(value, one.want) << one.op << "(" << one.x << ")";
      }
    }
  }
}
