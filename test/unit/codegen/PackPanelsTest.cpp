// Weights packed into panels against plain loops over the layout: convolutions forwards and mirrored, matrix products either way
// round, groups, columns beyond the last.

#include "test/unit/codegen/KernelHarness.h"

#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include <sstream>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

struct Loop {
  int64_t dim, extent, step;
};

std::string typeOf(const std::vector<int64_t> &shape, const std::vector<Loop> &loops = {}) {
  std::ostringstream os;
  os << "tensor<";
  for (int64_t extent : shape)
    os << extent << "x";
  os << "f32";
  if (!loops.empty()) {
    os << ", #nn.enc<[], pack = <";
    for (size_t i = 0; i < loops.size(); ++i)
      os << (i ? ", " : "") << "[" << loops[i].dim << ", " << loops[i].extent << ", " << loops[i].step << "]";
    os << ">>";
  }
  os << ">";
  return os.str();
}

/// `movements` leads from %x0, a tensor of `shape`, to %y of `moved`; `source` says the same in numbers.
void check(const std::vector<int64_t> &shape, const std::vector<int64_t> &moved, const std::vector<Loop> &loops,
           const std::string &movements, const std::function<int64_t(std::vector<int64_t>)> &source) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::vector<float> x = randomFloats(count, 1), want;
  std::vector<int64_t> index(loops.size(), 0);
  for (bool done = false; !done;) {
    std::vector<int64_t> element(moved.size(), 0);
    for (size_t i = 0; i < loops.size(); ++i)
      element[loops[i].dim] += index[i] * loops[i].step;
    bool isInside = true;
    for (size_t d = 0; d < moved.size(); ++d)
      isInside &= element[d] < moved[d];
    want.push_back(isInside ? x[source(element)] : 0.0f);
    done = true;
    for (size_t i = loops.size(); done && i-- > 0;) {
      done = ++index[i] == loops[i].extent;
      if (done)
        index[i] = 0;
    }
  }
  std::string in = typeOf(shape), out = typeOf(moved, loops);
  CompiledKernel kernel("module {\nfunc.func @f(%x: " + in + ") -> " + out + " {\n%k = nn.kernel \"k\" (%x0 = %x : " + in + ") -> " + out +
                        " {\n" + movements + "%r = nn.reorder " + (movements.empty() ? "%x0" : "%y") + " : " + typeOf(moved) + " to " +
                        out + "\nnn.yield %r : " + out + "\n}\nreturn %k : " + out + "\n}\n}\n");
  std::vector<float> got(want.size(), NAN);
  ASSERT_EQ(kernel.run({x.data(), got.data()}), 0);
  EXPECT_EQ(got, want);
}

std::function<int64_t(std::vector<int64_t>)> rowMajor(std::vector<int64_t> shape) {
  return [shape](std::vector<int64_t> index) {
    int64_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place = place * shape[d] + index[d];
    return place;
  };
}

} // namespace

TEST(PackPanels, Convolution) {
  std::vector<int64_t> shape = {50, 21, 3, 3};
  check(shape, shape, {{0, 4, 16}, {2, 3, 1}, {3, 3, 1}, {1, 21, 1}, {0, 16, 1}}, "", rowMajor(shape));
}
TEST(PackPanels, FullPanels) {
  std::vector<int64_t> shape = {32, 170, 1, 1};
  check(shape, shape, {{0, 2, 16}, {2, 1, 1}, {3, 1, 1}, {1, 170, 1}, {0, 16, 1}}, "", rowMajor(shape));
}
TEST(PackPanels, Groups) {
  std::vector<int64_t> shape = {10, 4, 3, 2};
  check(shape, shape, {{0, 2, 5}, {0, 1, 8}, {2, 3, 1}, {3, 2, 1}, {1, 4, 1}, {0, 8, 1}}, "", rowMajor(shape));
}
TEST(PackPanels, MirroredAndTransposed) {
  std::vector<int64_t> shape = {20, 13, 3, 3};
  check(shape, {13, 20, 3, 3}, {{0, 1, 16}, {2, 3, 1}, {3, 3, 1}, {1, 20, 1}, {0, 16, 1}},
        "%s = nn.slice %x0 {sizes = array<i64: -1, -1, -1, -1>, starts = array<i64: 0, 0, -1, -1>, steps = array<i64: 1, 1, -1, -1>} : "
        "tensor<20x13x3x3xf32> -> tensor<20x13x3x3xf32>\n%y = nn.transpose %s {permutation = array<i64: 1, 0, 2, 3>} : "
        "tensor<20x13x3x3xf32> -> tensor<13x20x3x3xf32>\n",
        [](std::vector<int64_t> i) { return ((i[1] * 13 + i[0]) * 3 + 2 - i[2]) * 3 + 2 - i[3]; });
}
TEST(PackPanels, MatrixByRows) {
  std::vector<int64_t> shape = {300, 37};
  check(shape, shape, {{1, 3, 16}, {0, 300, 1}, {1, 16, 1}}, "", rowMajor(shape));
}
TEST(PackPanels, MatrixByColumns) {
  std::vector<int64_t> shape = {37, 300};
  check(shape, shape, {{0, 3, 16}, {1, 300, 1}, {0, 16, 1}}, "", rowMajor(shape));
}
TEST(PackPanels, NarrowPanels) {
  std::vector<int64_t> shape = {10, 200};
  check(shape, shape, {{0, 3, 4}, {1, 200, 1}, {0, 4, 1}}, "", rowMajor(shape));
}
