// Pack: against the definition (index of a dim = sum of loopIndex * step) walked element by
// element, and hand-written cases.
#include "runtime/Pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

using namespace nncc;
using namespace nncc::rt;

namespace {

using Shape = std::vector<int64_t>;
using Loops = std::vector<PackLoop>;

int64_t product(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// The definition. Calls visit(packedIndex, logicalIndex or -1).
template <typename Visit> void walk(const Shape &shape, const Loops &loops, Visit visit) {
  int64_t count = *packedElementCount(shape, loops);
  for (int64_t p = 0; p < count; ++p) {
    Shape index(shape.size(), 0);
    int64_t rest = p;
    for (size_t l = loops.size(); l-- > 0;) {
      index[loops[l].dim] += rest % loops[l].extent * loops[l].step;
      rest /= loops[l].extent;
    }
    int64_t logical = 0;
    bool inside = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      inside &= index[d] < shape[d];
      logical = logical * shape[d] + index[d];
    }
    visit(p, inside ? logical : -1);
  }
}

void checkAgainstDefinition(const Shape &shape, const Loops &loops, int64_t elementBytes) {
  int64_t logicalBytes = product(shape) * elementBytes;
  int64_t packedBytes = *packedElementCount(shape, loops) * elementBytes;
  std::vector<uint8_t> logical(static_cast<size_t>(logicalBytes));
  for (size_t i = 0; i < logical.size(); ++i)
    logical[i] = static_cast<uint8_t>(1 + i * 7 % 251);
  std::vector<uint8_t> packed(static_cast<size_t>(packedBytes), 0xAA), expected(packed.size(), 0);
  std::vector<uint8_t> back(logical.size(), 0), expectedBack(logical.size(), 0);
  walk(shape, loops, [&](int64_t p, int64_t l) {
    if (l < 0)
      return;
    std::memcpy(&expected[static_cast<size_t>(p * elementBytes)],
                &logical[static_cast<size_t>(l * elementBytes)], static_cast<size_t>(elementBytes));
    std::memcpy(&expectedBack[static_cast<size_t>(l * elementBytes)],
                &logical[static_cast<size_t>(l * elementBytes)], static_cast<size_t>(elementBytes));
  });
  packTensor(shape, loops, elementBytes, logical.data(), packed.data());
  ASSERT_EQ(packed, expected);
  unpackTensor(shape, loops, elementBytes, packed.data(), back.data());
  ASSERT_EQ(back, expectedBack);
}

} // namespace

TEST(Pack, PadsTheLastPanelWithZeros) {
  // A 3x2 matrix (rows N, columns K) as K-major panels of two rows.
  Shape shape = {3, 2};
  Loops loops = {{0, 2, 2}, {1, 2, 1}, {0, 2, 1}};
  float logical[] = {1, 2, 3, 4, 5, 6};
  float packed[8];
  packTensor(shape, loops, 4, logical, packed);
  EXPECT_EQ(std::vector<float>(packed, packed + 8), (std::vector<float>{1, 3, 2, 4, 5, 0, 6, 0}));
}

TEST(Pack, CommonWeightLayouts) {
  Shape oihw = {37, 19, 3, 3};
  Loops blocked = {{0, 3, 16}, {1, 2, 16}, {2, 3, 1}, {3, 3, 1}, {1, 16, 1}, {0, 16, 1}};
  Loops ohwi = {{0, 37, 1}, {2, 3, 1}, {3, 3, 1}, {1, 19, 1}};
  for (int64_t elementBytes : {1, 2, 3, 4, 8, 16}) {
    checkAgainstDefinition(oihw, blocked, elementBytes);
    checkAgainstDefinition(oihw, ohwi, elementBytes);
    checkAgainstDefinition({100, 50}, {{0, 7, 16}, {1, 50, 1}, {0, 16, 1}}, elementBytes);
    checkAgainstDefinition({100, 50}, {{1, 50, 1}, {0, 112, 1}}, elementBytes);
    checkAgainstDefinition({100, 50}, {{0, 100, 1}, {1, 50, 1}}, elementBytes);
  }
}

TEST(Pack, ScalarsAndEmptyTensors) {
  checkAgainstDefinition({}, {}, 4);
  checkAgainstDefinition({0, 3}, {{0, 16, 1}, {1, 3, 1}}, 4);
  checkAgainstDefinition({4, 3}, {{0, 0, 1}, {1, 3, 1}}, 4);
}

TEST(Pack, RandomLoopNests) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    Shape shape;
    for (size_t d = 0; d < 1 + random() % 4; ++d)
      shape.push_back(1 + static_cast<int64_t>(random() % 9));
    Loops loops;
    for (uint32_t d = 0; d < shape.size(); ++d) {
      int64_t block = 1 + static_cast<int64_t>(random() % 5);
      if (random() % 2) {
        loops.push_back({d, (shape[d] + block - 1) / block, block});
        loops.push_back({d, block, 1});
      } else {
        loops.push_back({d, shape[d] + static_cast<int64_t>(random() % 3), 1});
      }
    }
    std::shuffle(loops.begin(), loops.end(), random);
    checkAgainstDefinition(shape, loops, 4);
  }
}

TEST(Pack, RefusesLoopsThatDoNotFit) {
  EXPECT_FALSE(packedElementCount(Shape{4}, Loops{{1, 4, 1}}));
  EXPECT_FALSE(packedElementCount(Shape{4}, Loops{{0, 4, 0}}));
  EXPECT_FALSE(packedElementCount(Shape{4}, Loops{{0, -1, 1}}));
  EXPECT_FALSE(
      packedElementCount(Shape{4}, Loops{{0, int64_t{1} << 40, 1}, {0, int64_t{1} << 40, 1}}));
}
