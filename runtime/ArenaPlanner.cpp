// Greedy best fit over the interval graph: items are placed one after the other, each into the
// smallest gap that holds it between the items that are alive with it. The order decides how good
// the result is, so several are tried; if none reaches the lower bound, the items that stick out at
// the top are moved to the front of the best order and the placing is repeated.
#include "runtime/ArenaPlanner.h"

#include "support/CheckedSize.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

namespace nncc::rt {
namespace {

/// Bound on the repair rounds and on the pairs of items they may visit, so that planning takes
/// milliseconds for any model.
constexpr int kMaxRepairRounds = 400;
constexpr int64_t kMaxRepairWork = 20'000'000;

using Order = std::vector<uint32_t>;

class Planner {
public:
  explicit Planner(std::span<const ArenaItem> items) : items(items), roundedBytes(items.size()) {}

  std::optional<ArenaPlan> run() {
    if (!computeBounds())
      return std::nullopt;
    Order bestOrder;
    for (const Order &order : candidateOrders())
      if (Placement placement = place(order);
          bestOrder.empty() || placement.arenaBytes < best.arenaBytes) {
        best = std::move(placement);
        bestOrder = order;
      }
    repair(bestOrder);
    plan.offsetsBytes = std::move(best.offsets);
    plan.arenaBytes = best.arenaBytes;
    return std::move(plan);
  }

private:
  struct Placement {
    std::vector<int64_t> offsets;
    int64_t arenaBytes = 0;
  };

  // The sum bounds every offset that placing can produce, so it is the only total to be checked for
  // overflow.
  bool computeBounds() {
    CheckedSize sum = 0;
    uint32_t lastStep = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const ArenaItem &item = items[i];
      CheckedSize rounded = roundUp(CheckedSize(item.sizeBytes), item.alignmentBytes);
      // An item's alignment may cost up to itself at its start, when its neighbours have a smaller
      // one.
      sum += rounded + item.alignmentBytes;
      if (!sum.valid() || item.sizeBytes < 0 || item.alignmentBytes <= 0 ||
          item.firstUse > item.lastUse)
        return false;
      roundedBytes[i] = rounded.getOr(0);
      plan.sumBytes += roundedBytes[i];
      lastStep = std::max(lastStep, item.lastUse);
    }
    // Bytes that come alive and go at each step; their running sum is the live set.
    std::vector<int64_t> delta(static_cast<size_t>(lastStep) + 2, 0);
    for (size_t i = 0; i < items.size(); ++i) {
      delta[items[i].firstUse] += roundedBytes[i];
      delta[items[i].lastUse + size_t{1}] -= roundedBytes[i];
    }
    int64_t live = 0;
    for (int64_t change : delta) {
      live += change;
      plan.lowerBoundBytes = std::max(plan.lowerBoundBytes, live);
    }
    return true;
  }

  std::vector<Order> candidateOrders() const {
    auto sizeOf = [this](uint32_t i) { return static_cast<double>(roundedBytes[i]); };
    auto lifetimeOf = [this](uint32_t i) { return items[i].lastUse - items[i].firstUse + 1.0; };
    auto sortedBy = [this](auto key) {
      Order order(items.size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return key(a) != key(b) ? key(a) > key(b) : a < b; // the same plan on every machine
      });
      return order;
    };
    return {sortedBy(sizeOf), sortedBy([&](uint32_t i) { return sizeOf(i) * lifetimeOf(i); }),
            sortedBy(lifetimeOf),
            sortedBy([this](uint32_t i) { return -double(items[i].firstUse); }),
            sortedBy([this](uint32_t i) { return double(items[i].lastUse); })};
  }

  bool aliveTogether(uint32_t a, uint32_t b) const {
    return items[a].firstUse <= items[b].lastUse && items[b].firstUse <= items[a].lastUse;
  }

  Placement place(const Order &order) const {
    Placement result{std::vector<int64_t>(items.size(), 0), 0};
    Order placed; // by offset
    placed.reserve(order.size());
    for (uint32_t id : order) {
      if (roundedBytes[id] == 0)
        continue;
      int64_t offset = findBestGap(id, placed, result.offsets);
      result.offsets[id] = offset;
      result.arenaBytes = std::max(result.arenaBytes, offset + roundedBytes[id]);
      auto position =
          std::upper_bound(placed.begin(), placed.end(), offset,
                           [&](int64_t o, uint32_t other) { return o < result.offsets[other]; });
      placed.insert(position, id);
    }
    return result;
  }

  int64_t findBestGap(uint32_t id, const Order &placed, const std::vector<int64_t> &offsets) const {
    int64_t alignment = items[id].alignmentBytes;
    int64_t size = roundedBytes[id];
    int64_t end = 0; // of the occupied space seen so far
    int64_t bestOffset = -1, bestGap = INT64_MAX;
    for (uint32_t other : placed) {
      if (!aliveTogether(id, other))
        continue;
      int64_t start = (end + alignment - 1) / alignment * alignment;
      int64_t gap = offsets[other] - start;
      if (gap >= size && gap < bestGap) {
        bestGap = gap;
        bestOffset = start;
      }
      end = std::max(end, offsets[other] + roundedBytes[other]);
    }
    return bestOffset >= 0 ? bestOffset : (end + alignment - 1) / alignment * alignment;
  }

  void repair(Order order) {
    int64_t rounds = kMaxRepairWork /
                     (static_cast<int64_t>(items.size()) * static_cast<int64_t>(items.size()) + 1);
    rounds = std::min<int64_t>(rounds, kMaxRepairRounds);
    Placement current = best;
    for (; rounds > 0 && best.arenaBytes > plan.lowerBoundBytes; --rounds) {
      auto sticksOut = [&](uint32_t id) {
        return current.offsets[id] + roundedBytes[id] > plan.lowerBoundBytes;
      };
      Order next;
      std::copy_if(order.begin(), order.end(), std::back_inserter(next), sticksOut);
      std::copy_if(order.begin(), order.end(), std::back_inserter(next), std::not_fn(sticksOut));
      order = std::move(next);
      current = place(order);
      if (current.arenaBytes < best.arenaBytes)
        best = current;
    }
  }

  std::span<const ArenaItem> items;
  std::vector<int64_t> roundedBytes;
  ArenaPlan plan;
  Placement best;
};

} // namespace

std::optional<ArenaPlan> planArena(std::span<const ArenaItem> items) {
  return Planner(items).run();
}

} // namespace nncc::rt
