// Resizing, one axis after the other; see Resize.h.
#include "runtime/data/Resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace nncc;
using namespace nncc::data;

namespace {

/// The pixels that a new pixel is made of, and their weights.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights; ///< of sum 1
};

/// For the window [start, start + extent) of the old axis, of `size` pixels, mapped to `newSize`.
std::vector<Taps> makeTaps(int64_t size, double start, double extent, int64_t newSize) {
  double scale = extent / static_cast<double>(newSize), radius = std::max(scale, 1.0);
  std::vector<Taps> taps(static_cast<size_t>(newSize));
  for (int64_t i = 0; i < newSize; ++i) {
    // Pixels are squares: the middle of the first lies at 0.5.
    double centre = start + (static_cast<double>(i) + 0.5) * scale;
    int64_t first = std::max<int64_t>(static_cast<int64_t>(std::floor(centre - radius)), 0);
    int64_t end = std::min<int64_t>(static_cast<int64_t>(std::ceil(centre + radius)), size);
    Taps &tap = taps[static_cast<size_t>(i)];
    double sum = 0;
    std::vector<double> weights;
    for (int64_t p = first; p < end; ++p) {
      weights.push_back(
          std::max(0.0, 1 - std::abs(static_cast<double>(p) + 0.5 - centre) / radius));
      sum += weights.back();
    }
    tap.first = first;
    for (double weight : weights)
      tap.weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

} // namespace

void data::resizePlanes(std::span<const uint8_t> from, int64_t channels, int64_t height,
                        int64_t width, std::span<uint8_t> to, int64_t newHeight, int64_t newWidth,
                        ImageFit fit) {
  double takenHeight = static_cast<double>(height), takenWidth = static_cast<double>(width);
  if (fit == ImageFit::Crop) {
    double scale = std::min(takenHeight / static_cast<double>(newHeight),
                            takenWidth / static_cast<double>(newWidth));
    takenHeight = scale * static_cast<double>(newHeight);
    takenWidth = scale * static_cast<double>(newWidth);
  }
  std::vector<Taps> rows =
      makeTaps(height, (static_cast<double>(height) - takenHeight) / 2, takenHeight, newHeight);
  std::vector<Taps> columns =
      makeTaps(width, (static_cast<double>(width) - takenWidth) / 2, takenWidth, newWidth);
  std::vector<float> row(static_cast<size_t>(width)); // one new row before its columns are merged
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t y = 0; y < newHeight; ++y) {
      const Taps &vertical = rows[static_cast<size_t>(y)];
      std::fill(row.begin(), row.end(), 0.0f);
      for (size_t i = 0; i < vertical.weights.size(); ++i) {
        const uint8_t *source =
            from.data() + (channel * height + vertical.first + static_cast<int64_t>(i)) * width;
        for (int64_t x = 0; x < width; ++x)
          row[static_cast<size_t>(x)] += vertical.weights[i] * static_cast<float>(source[x]);
      }
      uint8_t *target = to.data() + (channel * newHeight + y) * newWidth;
      for (int64_t x = 0; x < newWidth; ++x) {
        const Taps &horizontal = columns[static_cast<size_t>(x)];
        float value = 0;
        for (size_t i = 0; i < horizontal.weights.size(); ++i)
          value += horizontal.weights[i] * row[static_cast<size_t>(horizontal.first) + i];
        target[x] = static_cast<uint8_t>(std::clamp(std::lround(value), 0l, 255l));
      }
    }
}
