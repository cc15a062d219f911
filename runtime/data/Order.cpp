// Fisher and Yates' shuffle with counter-based random numbers; see Order.h.
#include "runtime/data/Order.h"

#include "support/Philox.h"

#include <cstddef>
#include <numeric>
#include <utility>

using namespace nncc;
using namespace nncc::data;
using std::size_t;

std::vector<int64_t> data::shuffledOrder(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  PhiloxKey key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (size_t i = order.size(); i-- > 1;) {
    PhiloxCounter bits =
        philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32),
                    static_cast<uint32_t>(epoch), static_cast<uint32_t>(RandomUse::Shuffle)},
                   key);
    uint64_t random = uint64_t(bits[0]) << 32 | bits[1];
    // The upper half of the product is even over [0, i] but for 2^-64 of each.
    auto j = static_cast<size_t>(static_cast<unsigned __int128>(random) * (i + 1) >> 64);
    std::swap(order[i], order[j]);
  }
  return order;
}
