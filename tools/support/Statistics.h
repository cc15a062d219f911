// Order statistics of measured times.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace nncc::tools {

/// The value below which the share `p` of the samples lies (nearest rank); 0 without samples.
inline double percentile(std::vector<double> samples, double p) {
  if (samples.empty())
    return 0;
  auto rank = static_cast<size_t>(std::ceil(p * samples.size()));
  auto nth = samples.begin() + (std::clamp<size_t>(rank, 1, samples.size()) - 1);
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

inline double median(const std::vector<double> &samples) { return percentile(samples, 0.5); }

inline double mean(const std::vector<double> &samples) {
  return samples.empty() ? 0
                         : std::accumulate(samples.begin(), samples.end(), 0.0) / samples.size();
}

} // namespace nncc::tools
