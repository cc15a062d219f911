// Matrix product kernels against plain loops: packed and computed right operands, batches, transposition, fused chains.

#include "test/unit/codegen/KernelHarness.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <sstream>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

struct Case {
  int64_t batch = 0; ///< 0: rank 2
  int64_t m = 1, k = 1, n = 1;
  bool packed = true;         ///< the right operand is a weight in panels
  bool sharedRight = false;   ///< rank-2 right operand for every batch entry
  bool transposed = true;     ///< the right operand is N x K
  bool bias = true, relu = false, residual = false, dynamicM = false;
};

int64_t nativeColumns() {
  auto target = codegen::cpuTargetNamed("native");
  return target->tileVectors() * target->lanes(32);
}

std::string irOf(const Case &t, int64_t columns) {
  std::string m = t.dynamicM ? "?" : std::to_string(t.m), dims = t.dynamicM ? "N" : "";
  std::string lead = t.batch ? std::to_string(t.batch) + "x" : "";
  bool rightBatch = t.batch && !t.sharedRight;
  auto matrix = [&](const std::string &rows, int64_t cols) {
    return "tensor<" + lead + rows + "x" + std::to_string(cols) + "xf32, #nn.enc<[" + dims + "]>>";
  };
  std::string x = matrix(m, t.k), y = matrix(m, t.n);
  std::string shape = (rightBatch ? lead : "") + std::to_string(t.transposed ? t.n : t.k) + "x" +
                      std::to_string(t.transposed ? t.k : t.n);
  std::ostringstream right;
  right << "tensor<" << shape << "xf32";
  if (t.packed) {
    int64_t base = rightBatch ? 1 : 0, nDim = base + (t.transposed ? 0 : 1), kDim = base + (t.transposed ? 1 : 0);
    right << ", #nn.enc<[], pack = <";
    if (rightBatch)
      right << "[0, " << t.batch << ", 1], ";
    right << "[" << nDim << ", " << (t.n + columns - 1) / columns << ", " << columns << "], [" << kDim << ", " << t.k << ", 1], ["
          << nDim << ", " << columns << ", 1]>>";
  }
  right << ">";
  std::string w = right.str(), b = "tensor<" + std::to_string(t.n) + "xf32>";
  std::ostringstream os;
  os << "module attributes {nn.dims = [#nn.dim<\"N\", 1, 1000>]} {\nfunc.func @f(%x: " << x << ", %w: " << w << ", %b: " << b
     << ", %r: " << y << ") -> " << y << " {\n%k = nn.kernel \"matmul\" (%x0 = %x : " << x << ", %w0 = %w : " << w
     << ", %b0 = %b : " << b << ", %r0 = %r : " << y << ") -> " << y << " {\n%0 = nn.matmul %x0, %w0 " << (t.bias ? "bias %b0 " : "")
     << (t.transposed ? "{transpose_rhs} " : "") << ": (" << x << ", " << w << (t.bias ? ", " + b : "") << ") -> " << y << "\n";
  std::string last = "%0";
  if (t.residual) {
    os << "%1 = nn.add " << last << ", %r0 : (" << y << ", " << y << ") -> " << y << "\n";
    last = "%1";
  }
  if (t.relu) {
    os << "%2 = nn.relu " << last << " : " << y << "\n";
    last = "%2";
  }
  os << "nn.yield " << last << " : " << y << "\n}\nreturn %k : " << y << "\n}\n}\n";
  return os.str();
}

void check(const Case &t) {
  int64_t columns = nativeColumns(), batch = std::max<int64_t>(t.batch, 1);
  int64_t rights = t.batch && !t.sharedRight ? t.batch : 1;
  std::vector<float> x = randomFloats(batch * t.m * t.k, 1), w = randomFloats(rights * t.k * t.n, 2),
                     bias = randomFloats(t.n, 3), residual = randomFloats(batch * t.m * t.n, 4);
  auto right = [&](int64_t b, int64_t k, int64_t n) {
    const float *matrix = w.data() + (rights > 1 ? b : 0) * t.k * t.n;
    return t.transposed ? matrix[n * t.k + k] : matrix[k * t.n + n];
  };
  std::vector<float> want;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t m = 0; m < t.m; ++m)
      for (int64_t n = 0; n < t.n; ++n) {
        double sum = t.bias ? bias[n] : 0;
        for (int64_t k = 0; k < t.k; ++k)
          sum += double(x[(b * t.m + m) * t.k + k]) * right(b, k, n);
        if (t.residual)
          sum += residual[want.size()];
        want.push_back(t.relu ? std::max(sum, 0.0) : sum);
      }
  std::vector<float> operand = w;
  if (t.packed) {
    operand.clear();
    for (int64_t b = 0; b < rights; ++b)
      for (int64_t p = 0; p * columns < t.n; ++p)
        for (int64_t k = 0; k < t.k; ++k)
          for (int64_t n = p * columns; n < (p + 1) * columns; ++n)
            operand.push_back(n < t.n ? right(b, k, n) : 0.0f);
  }
  CompiledKernel kernel(irOf(t, columns));
  std::vector<float> got(want.size(), NAN);
  ASSERT_EQ(kernel.run({x.data(), operand.data(), bias.data(), residual.data(), got.data()}, {t.m}), 0);
  expectNear(got, want, 1e-4, 1e-4);
}

} // namespace

TEST(Matmul, Linear) { check({.m = 20, .k = 48, .n = 64, .relu = true}); }
TEST(Matmul, OneRow) { check({.m = 1, .k = 100, .n = 40}); }
TEST(Matmul, TailOfColumns) { check({.m = 7, .k = 33, .n = 10}); }
TEST(Matmul, TallAndManyPanels) { check({.m = 250, .k = 20, .n = 100, .residual = true}); }
TEST(Matmul, NotTransposed) { check({.m = 13, .k = 31, .n = 50, .transposed = false, .bias = false}); }
TEST(Matmul, DynamicRows) { check({.m = 197, .k = 24, .n = 33, .relu = true, .residual = true, .dynamicM = true}); }
TEST(Matmul, BatchWithOneWeight) { check({.batch = 3, .m = 50, .k = 16, .n = 24, .sharedRight = true}); }
TEST(Matmul, BatchOfWeights) { check({.batch = 3, .m = 50, .k = 16, .n = 24, .residual = true}); }
TEST(Matmul, ComputedRight) { check({.m = 70, .k = 40, .n = 37, .packed = false, .transposed = false}); }
TEST(Matmul, ComputedRightTransposed) { check({.batch = 4, .m = 130, .k = 32, .n = 45, .packed = false, .bias = false}); }
TEST(Matmul, ComputedRightShared) { check({.batch = 2, .m = 9, .k = 5, .n = 3, .packed = false, .sharedRight = true}); }
TEST(Matmul, ComputedRightDynamicRows) { check({.batch = 2, .m = 101, .k = 8, .n = 16, .packed = false, .dynamicM = true}); }
