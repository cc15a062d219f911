// One recursion over the loops serves both directions. The two innermost loops are handled as a
// block: contiguous runs by memcpy, strided ones (a transposition) by a typed copy in tiles that
// stay in the first-level cache.
#include "runtime/Pack.h"

#include "support/CheckedSize.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace nncc::rt {
namespace {

struct Bytes16 {
  uint64_t words[2];
};

template <typename T, bool IsPack> class Copier {
public:
  Copier(std::span<const int64_t> shape, std::span<const PackLoop> loops, T *logical, T *packed)
      : shape(shape), logical(logical), packed(packed), index(shape.size(), 0) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;)
      strides[d - 1] = strides[d] * shape[d];
    // Loops of one iteration move nothing. Dropping them keeps the innermost loops long.
    for (const PackLoop &loop : loops)
      if (loop.extent != 1)
        levels.push_back({loop.dim, loop.extent, loop.step, loop.step * strides[loop.dim], 1});
    mergeContiguousLoops();
    for (size_t l = levels.size(); l-- > 1;)
      levels[l - 1].packedStride = levels[l].packedStride * levels[l].extent;
  }

  void run() {
    for (const Level &level : levels)
      if (level.extent == 0)
        return;
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
      int64_t count = levels.empty() ? 1 : levels[0].packedStride * levels[0].extent;
      return zero(packed, count);
    }
    if (levels.empty())
      return copyRun(logical, packed, 1, 1);
    copyLevel(0, logical, packed);
  }

private:
  struct Level {
    uint32_t dim;
    int64_t extent;
    int64_t step;
    int64_t logicalStride; ///< elements of the logical tensor per iteration
    int64_t packedStride;  ///< elements of the packed tensor per iteration
  };

  // {d, a, b} {d, b, 1} walks dim d straight through, as {d, a*b, 1} does.
  void mergeContiguousLoops() {
    for (size_t l = levels.size(); l-- > 1;) {
      Level &outer = levels[l - 1], &inner = levels[l];
      if (outer.dim != inner.dim || outer.step != inner.step * inner.extent)
        continue;
      inner.extent *= outer.extent;
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(l - 1));
    }
  }

  /// Iterations of the level that stay inside the logical extent from the present index.
  int64_t insideCount(const Level &level) const {
    int64_t left = shape[level.dim] - index[level.dim];
    return left <= 0 ? 0 : std::min(level.extent, (left + level.step - 1) / level.step);
  }

  static void zero(T *target, int64_t count) {
    if constexpr (IsPack)
      std::memset(static_cast<void *>(target), 0, static_cast<size_t>(count) * sizeof(T));
  }

  static void copyRun(T *source, T *target, int64_t count, int64_t stride) {
    if (stride == 1) {
      T *to = IsPack ? target : source, *from = IsPack ? source : target;
      std::memcpy(static_cast<void *>(to), from, static_cast<size_t>(count) * sizeof(T));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (IsPack)
        target[i] = source[i * stride];
      else
        source[i * stride] = target[i];
    }
  }

  void copyLevel(size_t l, T *source, T *target) {
    const Level &level = levels[l];
    int64_t inside = insideCount(level);
    zero(target + inside * level.packedStride, (level.extent - inside) * level.packedStride);
    if (l + 1 == levels.size())
      return copyRun(source, target, inside, level.logicalStride);
    if (l + 2 == levels.size() && levels[l + 1].dim != level.dim && level.logicalStride == 1)
      return copyTransposed(inside, levels[l + 1], source, target);
    int64_t saved = index[level.dim];
    for (int64_t i = 0; i < inside; ++i, index[level.dim] += level.step)
      copyLevel(l + 1, source + i * level.logicalStride, target + i * level.packedStride);
    index[level.dim] = saved;
  }

  // `rows` iterations that are neighbours in the logical tensor, each with a strided run. Going
  // down the columns of a tile reads every logical cache line once.
  void copyTransposed(int64_t rows, const Level &inner, T *source, T *target) {
    constexpr int64_t kTileRows = 64 / sizeof(T) > 0 ? 64 / sizeof(T) : 1;
    int64_t inside = insideCount(inner);
    if (inside < inner.extent)
      for (int64_t row = 0; row < rows; ++row)
        zero(target + row * inner.extent + inside, inner.extent - inside);
    for (int64_t first = 0; first < rows; first += kTileRows) {
      int64_t last = std::min(rows, first + kTileRows);
      for (int64_t column = 0; column < inside; ++column) {
        T *line = source + column * inner.logicalStride;
        for (int64_t row = first; row < last; ++row) {
          T &element = target[row * inner.extent + column];
          if constexpr (IsPack)
            element = line[row];
          else
            line[row] = element;
        }
      }
    }
  }

  std::span<const int64_t> shape;
  T *logical;
  T *packed;
  std::vector<int64_t> index; ///< present index in each logical dim
  std::vector<Level> levels;
};

template <bool IsPack>
void copy(std::span<const int64_t> shape, std::span<const PackLoop> loops, int64_t elementBytes,
          void *logical, void *packed) {
  auto as = [&]<typename T>() {
    Copier<T, IsPack>(shape, loops, static_cast<T *>(logical), static_cast<T *>(packed)).run();
  };
  switch (elementBytes) {
  case 1:
    return as.template operator()<uint8_t>();
  case 2:
    return as.template operator()<uint16_t>();
  case 4:
    return as.template operator()<uint32_t>();
  case 8:
    return as.template operator()<uint64_t>();
  case 16:
    return as.template operator()<Bytes16>();
  default: { // any other size: bytes, with the element's bytes as one more dim
    std::vector<int64_t> byteShape(shape.begin(), shape.end());
    byteShape.push_back(elementBytes);
    std::vector<PackLoop> byteLoops(loops.begin(), loops.end());
    byteLoops.push_back({static_cast<uint32_t>(shape.size()), elementBytes, 1});
    Copier<uint8_t, IsPack>(byteShape, byteLoops, static_cast<uint8_t *>(logical),
                            static_cast<uint8_t *>(packed))
        .run();
  }
  }
}

} // namespace

Result<int64_t> packedElementCount(std::span<const int64_t> shape,
                                   std::span<const PackLoop> loops) {
  CheckedSize count = 1;
  for (const PackLoop &loop : loops) {
    if (loop.dim >= shape.size())
      return userError("pack loop names dim " + std::to_string(loop.dim) + " of a tensor of rank " +
                       std::to_string(shape.size()));
    if (loop.extent < 0 || loop.step <= 0)
      return userError("pack loop over dim " + std::to_string(loop.dim) +
                       " needs an extent >= 0 and a step > 0, found " +
                       std::to_string(loop.extent) + " and " + std::to_string(loop.step));
    count *= loop.extent;
  }
  if (!count.valid())
    return userError("the packed tensor has more than 2^63 elements");
  return count.getOr(0);
}

void packTensor(std::span<const int64_t> shape, std::span<const PackLoop> loops,
                int64_t elementBytes, const void *logical, void *packed) {
  copy<true>(shape, loops, elementBytes, const_cast<void *>(logical), packed);
}

void unpackTensor(std::span<const int64_t> shape, std::span<const PackLoop> loops,
                  int64_t elementBytes, const void *packed, void *logical) {
  copy<false>(shape, loops, elementBytes, logical, const_cast<void *>(packed));
}

} // namespace nncc::rt
