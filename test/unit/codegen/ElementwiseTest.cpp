// Elementwise chains and movements against plain loops: broadcasting, memory orders, packing, tails, element types, buffers that
// are operand and result at once, indices out of range.

#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/KernelText.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

std::string tensor(const std::string &shape, const std::string &encoding = "") {
  return "tensor<" + shape + (encoding.empty() ? "" : ", #nn.enc<" + encoding + ">") + ">";
}

std::vector<float> iota(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i);
  return values;
}

} // namespace

TEST(Elementwise, ReluOfAnyLength) {
  // Whole vectors, tails and less than a vector.
  for (int64_t n : {1, 3, 16, 64, 67, 20001}) {
    std::string type = tensor("?xf32", "[N]");
    CompiledKernel kernel(kernelText({type}, {type}, "%0 = nn.relu %a0 : " + type + "\nnn.yield %0 : " + type));
    std::vector<float> x = randomFloats(n, 1), want = x;
    for (float &value : want)
      value = std::max(value, 0.0f);
    Buffer<float> in(x), out(x.size());
    ASSERT_EQ(kernel.run({in, out}, {n}), rt::KernelOk);
    EXPECT_EQ(out.values(), want) << n;
  }
}

TEST(Elementwise, ConstantsWithoutAnOperand) {
  std::string table = tensor("3xf32"), splat = tensor("2x5xf32");
  CompiledKernel kernel(kernelText({}, {table, splat},
                                   "%0 = nn.constant dense<[1.5, -2.0, 0.25]> : " + table +
                                       "\n%1 = nn.constant dense<0.5> : " + splat + "\nnn.yield %0, %1 : " + table +
                                       ", " + splat));
  Buffer<float> first(3), second(10);
  ASSERT_EQ(kernel.run({first, second}), rt::KernelOk);
  EXPECT_EQ(first.values(), std::vector<float>({1.5f, -2.0f, 0.25f}));
  EXPECT_EQ(second.values(), std::vector<float>(10, 0.5f));
}

TEST(Elementwise, InPlace) {
  std::string type = tensor("100x37xf32"), bias = tensor("37xf32");
  CompiledKernel kernel(kernelText({type, bias}, {type},
                                   "%0 = nn.add %a0, %a1 : (" + type + ", " + bias + ") -> " + type +
                                       "\nnn.yield %0 : " + type));
  std::vector<float> x = randomFloats(3700, 1), b = randomFloats(37, 2), want = x;
  for (size_t i = 0; i < want.size(); ++i)
    want[i] += b[i % 37];
  Buffer<float> buffer(x), second(b);
  ASSERT_EQ(kernel.run({buffer, second, buffer}), rt::KernelOk);
  EXPECT_EQ(buffer.values(), want);
}

TEST(Elementwise, BroadcastsBothWays) {
  std::string a = tensor("5x1x7xf32"), b = tensor("3x1xf32"), y = tensor("5x3x7xf32");
  CompiledKernel kernel(kernelText({a, b}, {y},
                                   "%0 = nn.mul %a0, %a1 : (" + a + ", " + b + ") -> " + y + "\nnn.yield %0 : " + y));
  std::vector<float> x = randomFloats(35, 1), z = randomFloats(3, 2), want;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 7; ++k)
        want.push_back(x[i * 7 + k] * z[j]);
  Buffer<float> in(x), second(z), out(want.size());
  ASSERT_EQ(kernel.run({in, second, out}), rt::KernelOk);
  EXPECT_EQ(out.values(), want);
}

TEST(Elementwise, ChannelsLastBiasAndGelu) {
  std::string x = tensor("2x20x3x5xf32", "[], order = [0, 2, 3, 1]"), bias = tensor("20x1x1xf32");
  CompiledKernel kernel(kernelText({x, bias}, {x},
                                   "%0 = nn.add %a0, %a1 : (" + x + ", " + bias + ") -> " + x +
                                       "\n%1 = \"nn.gelu\"(%0) : (" + x + ") -> " + x + "\nnn.yield %1 : " + x));
  std::vector<float> in = randomFloats(600, 1, -4, 4), b = randomFloats(20, 2), want;
  for (size_t i = 0; i < in.size(); ++i) {
    double v = in[i] + b[i % 20];
    want.push_back(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))));
  }
  Buffer<float> buffer(in), second(b), out(want.size());
  ASSERT_EQ(kernel.run({buffer, second, out}), rt::KernelOk);
  expectNear(out.values(), want, 1e-6, 1e-6);
}

TEST(Elementwise, SeveralResults) {
  std::string x = tensor("4x50xf32");
  CompiledKernel kernel(kernelText({x}, {x, x},
                                   "%0 = nn.relu %a0 : " + x + "\n%1 = nn.add %0, %a0 : (" + x + ", " + x +
                                       ") -> " + x + "\nnn.yield %0, %1 : " + x + ", " + x));
  std::vector<float> in = randomFloats(200, 1), relu = in, sum = in;
  for (size_t i = 0; i < in.size(); ++i) {
    relu[i] = std::max(in[i], 0.0f);
    sum[i] = relu[i] + in[i];
  }
  Buffer<float> buffer(in), first(200), second(200);
  ASSERT_EQ(kernel.run({buffer, first, second}), rt::KernelOk);
  EXPECT_EQ(first.values(), relu);
  EXPECT_EQ(second.values(), sum);
}

TEST(Elementwise, Half) {
  std::string x = tensor("1001xf16");
  CompiledKernel kernel(kernelText({x, x}, {x},
                                   "%0 = nn.add %a0, %a1 : (" + x + ", " + x + ") -> " + x + "\n%1 = nn.relu %0 : " + x +
                                       "\nnn.yield %1 : " + x));
  std::vector<_Float16> a, b, want;
  for (int i = 0; i < 1001; ++i) {
    a.push_back(static_cast<_Float16>(i * 0.01f - 5));
    b.push_back(static_cast<_Float16>(i * 0.003f));
    float sum = static_cast<float>(a[i]) + static_cast<float>(b[i]);
    want.push_back(static_cast<_Float16>(std::max(sum, 0.0f)));
  }
  Buffer<_Float16> first(a), second(b), out(want.size());
  ASSERT_EQ(kernel.run({first, second, out}), rt::KernelOk);
  EXPECT_EQ(out.values(), want);
}

TEST(Elementwise, ComparisonAndSelection) {
  std::string x = tensor("77xf32"), condition = tensor("77xi1");
  CompiledKernel kernel(
      kernelText({x, x}, {condition, x},
                 "%0 = nn.less %a0, %a1 : (" + x + ", " + x + ") -> " + condition + "\n%1 = nn.where %0, %a0, %a1 : (" +
                     condition + ", " + x + ", " + x + ") -> " + x + "\nnn.yield %0, %1 : " + condition + ", " + x));
  std::vector<float> a = randomFloats(77, 1), b = randomFloats(77, 2), smaller;
  std::vector<uint8_t> isLess;
  for (int i = 0; i < 77; ++i) {
    isLess.push_back(a[i] < b[i]);
    smaller.push_back(std::min(a[i], b[i]));
  }
  Buffer<float> first(a), second(b), selected(77);
  Buffer<uint8_t> flags(77);
  ASSERT_EQ(kernel.run({first, second, flags, selected}), rt::KernelOk);
  EXPECT_EQ(flags.values(), isLess);
  EXPECT_EQ(selected.values(), smaller);
}

TEST(Elementwise, Casts) {
  std::string from = tensor("200xui8"), to = tensor("200xf32");
  CompiledKernel kernel(kernelText({from}, {to}, "%0 = nn.cast %a0 {to = f32} : " + from + " -> " + to + "\nnn.yield %0 : " + to));
  std::vector<uint8_t> in;
  std::vector<float> want;
  for (int i = 0; i < 200; ++i) {
    in.push_back(static_cast<uint8_t>(i + 30));
    want.push_back(static_cast<float>(i + 30));
  }
  Buffer<uint8_t> buffer(in);
  Buffer<float> out(200);
  ASSERT_EQ(kernel.run({buffer, out}), rt::KernelOk);
  EXPECT_EQ(out.values(), want);
}

TEST(Elementwise, Scalar) {
  std::string type = tensor("f32");
  CompiledKernel kernel(kernelText({type}, {type}, "%0 = nn.relu %a0 : " + type + "\nnn.yield %0 : " + type));
  Buffer<float> in{3.5f}, out(1);
  ASSERT_EQ(kernel.run({in, out}), rt::KernelOk);
  EXPECT_EQ(out[0], 3.5f);
}

TEST(Elementwise, Empty) {
  std::string type = tensor("0x8xf32");
  CompiledKernel kernel(kernelText({type}, {type}, "%0 = nn.relu %a0 : " + type + "\nnn.yield %0 : " + type));
  EXPECT_EQ(kernel.tasks(), 0);
}

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

TEST(Movement, ReorderToChannelsLastAndBack) {
  std::string rows = tensor("2x19x5x7xf32"), last = tensor("2x19x5x7xf32", "[], order = [0, 2, 3, 1]");
  std::vector<float> x = iota(2 * 19 * 35), moved(x.size());
  for (int n = 0; n < 2; ++n)
    for (int c = 0; c < 19; ++c)
      for (int p = 0; p < 35; ++p)
        moved[(n * 35 + p) * 19 + c] = x[(n * 19 + c) * 35 + p];
  Buffer<float> in(x), between(x.size()), out(x.size());
  CompiledKernel there(kernelText({rows}, {last}, "%0 = nn.reorder %a0 : " + rows + " to " + last + "\nnn.yield %0 : " + last));
  ASSERT_EQ(there.run({in, between}), rt::KernelOk);
  EXPECT_EQ(between.values(), moved);
  CompiledKernel back(kernelText({last}, {rows}, "%0 = nn.reorder %a0 : " + last + " to " + rows + "\nnn.yield %0 : " + rows));
  ASSERT_EQ(back.run({between, out}), rt::KernelOk);
  EXPECT_EQ(out.values(), x);
}

TEST(Movement, ReorderIntoPanelsFillsWithZeros) {
  // 10 x 3 as panels of 4 rows, K-major.
  std::string plain = tensor("10x3xf32"), packed = tensor("10x3xf32", "[], pack = <[0, 3, 4], [1, 3, 1], [0, 4, 1]>");
  std::vector<float> x = iota(30), want;
  for (int panel = 0; panel < 3; ++panel)
    for (int k = 0; k < 3; ++k)
      for (int j = 0; j < 4; ++j)
        want.push_back(panel * 4 + j < 10 ? x[(panel * 4 + j) * 3 + k] : 0);
  Buffer<float> in(x), out(want.size()), back(30);
  CompiledKernel pack(kernelText({plain}, {packed}, "%0 = nn.reorder %a0 : " + plain + " to " + packed + "\nnn.yield %0 : " + packed));
  ASSERT_EQ(pack.run({in, out}), rt::KernelOk);
  EXPECT_EQ(out.values(), want);
  CompiledKernel unpack(kernelText({packed}, {plain}, "%0 = nn.reorder %a0 : " + packed + " to " + plain + "\nnn.yield %0 : " + plain));
  ASSERT_EQ(unpack.run({out, back}), rt::KernelOk);
  EXPECT_EQ(back.values(), x);
}

TEST(Movement, TransposeThenAdd) {
  std::string x = tensor("6x33xf32"), y = tensor("33x6xf32");
  CompiledKernel kernel(kernelText({x, y}, {y},
                                   "%0 = nn.transpose %a0 {permutation = array<i64: 1, 0>} : " + x + " -> " + y +
                                       "\n%1 = nn.add %0, %a1 : (" + y + ", " + y + ") -> " + y + "\nnn.yield %1 : " + y));
  std::vector<float> a = randomFloats(198, 1), b = randomFloats(198, 2), want;
  for (int i = 0; i < 33; ++i)
    for (int j = 0; j < 6; ++j)
      want.push_back(a[j * 33 + i] + b[i * 6 + j]);
  Buffer<float> first(a), second(b), out(198);
  ASSERT_EQ(kernel.run({first, second, out}), rt::KernelOk);
  EXPECT_EQ(out.values(), want);
}

TEST(Movement, FlattenOfChannelsLast) {
  std::string x = tensor("?x5x2x3xf32", "[N], order = [0, 2, 3, 1]"), y = tensor("?x30xf32", "[N]");
  CompiledKernel kernel(kernelText({x}, {y}, "%0 = nn.reshape %a0 : " + x + " -> " + y + "\nnn.yield %0 : " + y));
  std::vector<float> in = iota(4 * 30), want;
  for (int n = 0; n < 4; ++n)
    for (int c = 0; c < 5; ++c)
      for (int p = 0; p < 6; ++p)
        want.push_back(in[(n * 6 + p) * 5 + c]);
  Buffer<float> buffer(in), out(want.size());
  ASSERT_EQ(kernel.run({buffer, out}, {4}), rt::KernelOk);
  EXPECT_EQ(out.values(), want);
}

TEST(Movement, ConcatOnEachAxis) {
  for (int axis : {0, 1}) {
    std::string a = tensor(axis == 0 ? "2x20xf32" : "3x20xf32"), b = tensor(axis == 0 ? "5x20xf32" : "3x7xf32"),
                y = tensor(axis == 0 ? "7x20xf32" : "3x27xf32");
    CompiledKernel kernel(kernelText({a, b}, {y},
                                     "%0 = nn.concat %a0, %a1 {axis = " + std::to_string(axis) + "} : (" + a + ", " + b +
                                         ") -> " + y + "\n%1 = nn.relu %0 : " + y + "\nnn.yield %1 : " + y));
    std::vector<float> first = randomFloats(axis == 0 ? 40 : 60, 1), second = randomFloats(axis == 0 ? 100 : 21, 2), want;
    int rows = axis == 0 ? 7 : 3, columns = axis == 0 ? 20 : 27;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        float value = axis == 0 ? (i < 2 ? first[i * 20 + j] : second[(i - 2) * 20 + j])
                                : (j < 20 ? first[i * 20 + j] : second[i * 7 + j - 20]);
        want.push_back(std::max(value, 0.0f));
      }
    Buffer<float> x(first), z(second), out(want.size());
    ASSERT_EQ(kernel.run({x, z, out}), rt::KernelOk);
    EXPECT_EQ(out.values(), want);
  }
}

TEST(Movement, PadAndSlice) {
  std::string x = tensor("3x5xf32"), padded = tensor("4x8xf32"), y = tensor("2x4xf32");
  CompiledKernel kernel(
      kernelText({x}, {padded, y},
                 "%0 = nn.pad %a0 constant {begin = array<i64: 0, 2>, end = array<i64: 1, 1>, value = 9.0} : " + x + " -> " +
                     padded + "\n%1 = nn.slice %0 {starts = array<i64: 1, -1>, sizes = array<i64: 2, 4>, steps = array<i64: 2, -2>} : " +
                     padded + " -> " + y + "\nnn.yield %0, %1 : " + padded + ", " + y));
  std::vector<float> in = iota(15), wantPadded, want;
  auto at = [&](int i, int j) { return i < 3 && j >= 2 && j < 7 ? in[i * 5 + j - 2] : 9.0f; };
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j)
      wantPadded.push_back(at(i, j));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      want.push_back(at(1 + 2 * i, 7 - 2 * j));
  Buffer<float> buffer(in), first(32), second(8);
  ASSERT_EQ(kernel.run({buffer, first, second}), rt::KernelOk);
  EXPECT_EQ(first.values(), wantPadded);
  EXPECT_EQ(second.values(), want);
}

TEST(Movement, EmbeddingChecksItsIndices) {
  std::string table = tensor("10x20xf32"), tokens = tensor("?xi64", "[N]"), y = tensor("?x20xf32", "[N]");
  CompiledKernel kernel(kernelText({table, tokens}, {y},
                                   "%0 = nn.gather %a0, %a1 {axis = 0} : (" + table + ", " + tokens + ") -> " + y +
                                       "\nnn.yield %0 : " + y));
  std::vector<float> weights = iota(200), want;
  std::vector<int64_t> indices = {3, 9, 0, -1, 5};
  for (int64_t index : indices)
    for (int j = 0; j < 20; ++j)
      want.push_back(weights[(index < 0 ? index + 10 : index) * 20 + j]);
  Buffer<float> x(weights), out(100);
  Buffer<int64_t> good(indices);
  ASSERT_EQ(kernel.run({x, good, out}, {5}), rt::KernelOk);
  EXPECT_EQ(out.values(), want);
  for (int64_t bad : {int64_t{10}, int64_t{-11}, INT64_MAX, INT64_MIN}) {
    Buffer<int64_t> wrong{1, bad, 2, 3, 4};
    EXPECT_EQ(kernel.run({x, wrong, out}, {5}), rt::KernelIndexOutOfRange) << bad;
  }
}

TEST(Movement, ResizeOfChannelsLast) {
  std::string x = tensor("1x18x2x2xf32", "[], order = [0, 2, 3, 1]"), y = tensor("1x18x4x4xf32", "[], order = [0, 2, 3, 1]");
  CompiledKernel kernel(kernelText({x}, {y}, "%0 = nn.resize %a0 nearest asymmetric : " + x + " -> " + y + "\nnn.yield %0 : " + y));
  std::vector<float> in = iota(72), want;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int c = 0; c < 18; ++c)
        want.push_back(in[((i / 2) * 2 + j / 2) * 18 + c]);
  Buffer<float> buffer(in), out(want.size());
  ASSERT_EQ(kernel.run({buffer, out}), rt::KernelOk);
  EXPECT_EQ(out.values(), want);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {
size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t place = text.find(part); place != std::string::npos; place = text.find(part, place + 1))
    ++count;
  return count;
}
} // namespace

TEST(ElementwiseCode, ChainsUseWholeVectors) {
  std::string x = tensor("1024xf32"), half = tensor("1024xf16");
  std::string bodies[] = {
      "%0 = nn.relu %a0 : " + x + "\nnn.yield %0 : " + x,
      "%0 = nn.add %a0, %a0 : (" + x + ", " + x + ") -> " + x + "\n%1 = nn.gelu %0 : " + x + "\nnn.yield %1 : " + x,
      "%0 = nn.sigmoid %a0 : " + x + "\nnn.yield %0 : " + x,
      "%0 = nn.exp %a0 : " + x + "\nnn.yield %0 : " + x,
      "%0 = nn.cast %a0 {to = f16} : " + x + " -> " + half + "\n%1 = nn.cast %0 {to = f32} : " + half + " -> " + x + "\nnn.yield %1 : " + x,
  };
  for (const std::string &body : bodies) {
    for (auto [level, vectors] : {std::pair("x86-64-v4", "%zmm"), std::pair("x86-64-v3", "%ymm")}) {
      std::string code = assemblyOf(kernelText({x}, {x}, body), level);
      EXPECT_GT(countOf(code, vectors), 0u) << body;
      // No call of a math function, and no scalar arithmetic.
      EXPECT_EQ(countOf(code, "callq"), 0u) << body;
      EXPECT_EQ(countOf(code, "mulss") + countOf(code, "addss"), 0u) << body;
    }
  }
}

TEST(ElementwiseCode, StridedReadsAreLeftToTheVectoriser) {
  // It may use gathers, since the loop is marked free of dependences.
  std::string x = tensor("64x64xf32"), y = tensor("64x64xf32");
  std::string code = assemblyOf(
      kernelText({x}, {y}, "%0 = nn.transpose %a0 {permutation = array<i64: 1, 0>} : " + x + " -> " + y + "\nnn.yield %0 : " + y),
      "x86-64-v4");
  EXPECT_GT(countOf(code, "%zmm"), 0u);
}
