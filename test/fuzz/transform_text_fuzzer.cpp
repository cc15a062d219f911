// The textual forms of augmentation and normalisation from any bytes: no crash, and what is
// accepted can be applied to an image or is refused with a message.
#include "runtime/data/Transforms.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  nncc::data::TransformOptions options;
  if (auto steps = nncc::data::parseAugmentation(text))
    options.augment = std::move(*steps);
  if (auto normalization = nncc::data::parseNormalization(text))
    options.normalization = std::move(*normalization);
  constexpr int64_t kSize = 6, kLargest = 1 << 12;
  nncc::data::Field image{"image", nncc::DType::U8, {3, kSize, kSize}};
  auto transform = nncc::data::Transform::create(image, nncc::DType::F32, options);
  if (!transform)
    return 0;
  int64_t count = 1;
  for (int64_t extent : transform->shape())
    count = extent > kLargest ? kLargest * kLargest : count * extent;
  if (count > kLargest * kLargest / 2)
    return 0;
  std::vector<std::byte> pixels(3 * kSize * kSize);
  std::vector<float> result(static_cast<size_t>(count));
  (void)bool(transform->apply(1, 2, pixels.data(), reinterpret_cast<std::byte *>(result.data())));
  return 0;
}
