// The nearest of a set of names, by edit distance.
#include "frontend/nn/Spelling.h"

#include <algorithm>

namespace nncc::frontend {

namespace {

/// Names longer than this are never compared: the table is quadratic, and no name that one mistypes
/// is that long.
constexpr size_t maxLength = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Optimal string alignment distance without regard to letter case.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> twoAbove(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                     lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped)
        row[j] = std::min(row[j], twoAbove[j - 2] + 1);
    }
    std::swap(twoAbove, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

} // namespace

std::optional<std::string> closestName(std::string_view name,
                                       const std::vector<std::string> &candidates) {
  if (name.empty() || name.size() > maxLength)
    return std::nullopt;
  const std::string *best = nullptr;
  size_t bestDistance = name.size() < 3 ? 1 : (name.size() + 2) / 3;
  for (const std::string &candidate : candidates) {
    if (candidate.size() > maxLength || candidate == name)
      continue;
    size_t distance = editDistance(name, candidate);
    // A suggestion that shares no letter with what was written only confuses.
    if (distance >= std::max(name.size(), candidate.size()))
      continue;
    if (distance < bestDistance || (!best && distance == bestDistance)) {
      best = &candidate;
      bestDistance = distance;
    }
  }
  return best ? std::optional<std::string>(*best) : std::nullopt;
}

std::string suggestion(std::string_view name, const std::vector<std::string> &candidates) {
  std::optional<std::string> close = closestName(name, candidates);
  return close ? "; did you mean '" + *close + "'?" : std::string();
}

} // namespace nncc::frontend
