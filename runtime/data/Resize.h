// Resizing of images: each new pixel is the mean of those under a triangle around it, which is two
// pixels wide of the coarser of both grids, so that neither enlarging nor reducing leaves out any
// (bilinear with antialiasing, as Pillow's BILINEAR).
#pragma once

#include <cstdint>
#include <span>

namespace nncc::data {

enum class ImageFit : uint8_t {
  Crop,    ///< scaled until it covers the new size, then its centre
  Stretch, ///< both sides by themselves
};

/// From planes [channels, height, width] to [channels, newHeight, newWidth].
void resizePlanes(std::span<const uint8_t> from, int64_t channels, int64_t height, int64_t width,
                  std::span<uint8_t> to, int64_t newHeight, int64_t newWidth, ImageFit fit);

} // namespace nncc::data
