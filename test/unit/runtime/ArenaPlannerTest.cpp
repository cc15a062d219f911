// ArenaPlanner: no two buffers that are alive together overlap (brute force), and the arena stays
// within 5% of the lower bound on the buffer graphs of real networks.
#include "runtime/ArenaPlanner.h"

#include <gtest/gtest.h>

#include <random>

using namespace nncc::rt;

namespace {

using Items = std::vector<ArenaItem>;

ArenaPlan planChecked(const Items &items) {
  std::optional<ArenaPlan> plan = planArena(items);
  if (!plan) {
    ADD_FAILURE() << "no plan";
    return {};
  }
  EXPECT_EQ(plan->offsetsBytes.size(), items.size());
  uint32_t lastStep = 0;
  for (const ArenaItem &item : items)
    lastStep = std::max(lastStep, item.lastUse);
  // The lower bound, step by step.
  int64_t bound = 0;
  for (uint32_t step = 0; step <= lastStep; ++step) {
    int64_t live = 0;
    for (const ArenaItem &item : items)
      if (item.firstUse <= step && step <= item.lastUse)
        live +=
            (item.sizeBytes + item.alignmentBytes - 1) / item.alignmentBytes * item.alignmentBytes;
    bound = std::max(bound, live);
  }
  EXPECT_EQ(plan->lowerBoundBytes, bound);
  EXPECT_GE(plan->arenaBytes, items.empty() ? 0 : bound);
  for (size_t a = 0; a < items.size(); ++a) {
    int64_t beginA = plan->offsetsBytes[a], endA = beginA + items[a].sizeBytes;
    EXPECT_EQ(beginA % items[a].alignmentBytes, 0);
    EXPECT_GE(beginA, 0);
    EXPECT_LE(endA, plan->arenaBytes);
    for (size_t b = 0; b < a; ++b) {
      bool together =
          items[a].firstUse <= items[b].lastUse && items[b].firstUse <= items[a].lastUse;
      int64_t beginB = plan->offsetsBytes[b], endB = beginB + items[b].sizeBytes;
      EXPECT_FALSE(together && beginA < endB && beginB < endA) << a << " overlaps " << b;
    }
  }
  return *plan;
}

double excess(const ArenaPlan &plan) {
  return double(plan.arenaBytes) / double(plan.lowerBoundBytes) - 1.0;
}

int64_t feature(int64_t channels, int64_t side) { return channels * side * side * 4; }

// Bottleneck blocks: the block's input stays alive for the residual addition, whose result takes
// its place or a new one.
Items resnet50(int64_t batch) {
  Items items;
  uint32_t step = 0;
  auto add = [&](int64_t size, uint32_t uses) {
    items.push_back({size * batch, step, step + uses});
    ++step;
  };
  add(feature(64, 112), 1);
  add(feature(64, 56), 4);
  int64_t widths[] = {64, 128, 256, 512}, sides[] = {56, 28, 14, 7};
  int counts[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < counts[stage]; ++block) {
      int64_t inSide = block == 0 && stage > 0 ? sides[stage] * 2 : sides[stage];
      if (block == 0)
        add(feature(widths[stage] * 4, sides[stage]), 3); // projection shortcut
      add(feature(widths[stage], inSide), 1);
      add(feature(widths[stage], sides[stage]), 1);
      add(feature(widths[stage] * 4, sides[stage]), block + 1 == counts[stage] ? 2 : 3);
    }
  add(2048 * 4, 1);
  return items;
}

// Encoder results are kept for the decoder on the other side.
Items unet(int depth, int64_t side, int64_t channels) {
  Items items;
  uint32_t total = static_cast<uint32_t>(depth) * 6 + 4;
  uint32_t step = 0;
  for (int level = 0; level < depth; ++level, side /= 2, channels *= 2) {
    items.push_back({feature(channels, side), step, step + 1});
    items.push_back({feature(channels, side), step + 1, total - step}); // skip connection
    items.push_back({feature(channels, side / 2), step + 2, step + 3});
    step += 3;
  }
  items.push_back({feature(channels, side), step, step + 1});
  items.push_back({feature(channels, side), step + 1, step + 2});
  step += 2;
  for (int level = depth; level-- > 0;) {
    side *= 2;
    channels /= 2;
    items.push_back({feature(channels, side), step, step + 1});
    items.push_back({feature(channels, side), step + 1, step + 2});
    items.push_back({feature(channels, side), step + 2, step + 3});
    step += 3;
  }
  return items;
}

// Inverted residuals: a wide pair of buffers between narrow ones.
Items mobilenetV2() {
  Items items;
  uint32_t step = 0;
  int64_t channels[] = {16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320};
  int64_t sides[] = {112, 56, 56, 28, 28, 28, 14, 14, 14, 14, 14, 14, 14, 7, 7, 7, 7};
  int64_t inChannels = 32, inSide = 112;
  items.push_back({feature(32, 112), 0, 3});
  for (int i = 0; i < 17; ++i) {
    int64_t expanded = inChannels * (i == 0 ? 1 : 6);
    items.push_back({feature(expanded, inSide), step + 1, step + 2});
    items.push_back({feature(expanded, sides[i]), step + 2, step + 3});
    items.push_back({feature(channels[i], sides[i]), step + 3, step + 6});
    step += 3;
    inChannels = channels[i];
    inSide = sides[i];
  }
  return items;
}

} // namespace

TEST(ArenaPlanner, HandlesTheEmptyProgramAndEmptyBuffers) {
  EXPECT_EQ(planChecked({}).arenaBytes, 0);
  EXPECT_EQ(planChecked({{0, 0, 3}, {0, 1, 2}}).arenaBytes, 0);
}

TEST(ArenaPlanner, AChainAlternatesBetweenTwoPlaces) {
  ArenaPlan plan = planChecked({{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}});
  EXPECT_EQ(plan.arenaBytes, 1280);
  EXPECT_EQ(plan.sumBytes, 2560);
  EXPECT_EQ(plan.lowerBoundBytes, 1280);
}

TEST(ArenaPlanner, KeepsEachAlignment) {
  ArenaPlan plan = planChecked({{10, 0, 2, 64}, {10, 0, 2, 4096}, {3, 1, 1, 1}});
  EXPECT_LE(plan.arenaBytes, 4096 + 4096);
}

TEST(ArenaPlanner, RefusesWhatCannotBeAddedUp) {
  EXPECT_FALSE(planArena(Items{{INT64_MAX - 10, 0, 1}}));
  EXPECT_FALSE(planArena(Items{{int64_t{1} << 62, 0, 1}, {int64_t{1} << 62, 0, 1}}));
  EXPECT_FALSE(planArena(Items{{-1, 0, 1}}));
  EXPECT_FALSE(planArena(Items{{64, 2, 1}}));
}

TEST(ArenaPlanner, StaysWithinFivePercentOnRealNetworks) {
  EXPECT_LE(excess(planChecked(resnet50(1))), 0.05);
  EXPECT_LE(excess(planChecked(resnet50(7))), 0.05);
  EXPECT_LE(excess(planChecked(mobilenetV2())), 0.05);
  for (int depth = 2; depth <= 5; ++depth)
    EXPECT_LE(excess(planChecked(unet(depth, 256, 32))), 0.05) << "depth " << depth;
}

// Random graphs are harder than networks; still no plan may overlap, and on average they stay
// close.
TEST(ArenaPlanner, RandomGraphsNeverOverlap) {
  std::mt19937 random(11);
  double totalExcess = 0;
  constexpr int kGraphs = 200;
  for (int graph = 0; graph < kGraphs; ++graph) {
    Items items;
    size_t count = 1 + random() % 80;
    for (size_t i = 0; i < count; ++i) {
      uint32_t first = static_cast<uint32_t>(random() % 60);
      uint32_t length = random() % 8 == 0 ? random() % 40 : random() % 4;
      items.push_back({static_cast<int64_t>(random() % 100000), first, first + length});
    }
    totalExcess += excess(planChecked(items));
  }
  EXPECT_LE(totalExcess / kGraphs, 0.02);
}
