// Decoding by libpng and libjpeg-turbo into rows of interleaved 8-bit channels, then one change of
// layout and type for both.

#include "runtime/data/Image.h"
#include "runtime/File.h"
#include "support/CheckedSize.h"

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

using namespace nncc;
using namespace nncc::data;

namespace {

/// Before memory is taken for what a header promises.
constexpr int64_t kMaxPixels = int64_t(1) << 28;

struct Pixels {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> interleaved; ///< [height, width, channels]
};

class ImageReader {
public:
  ImageReader(const std::string &path, std::span<const std::byte> bytes, int channels)
      : path(path), bytes(bytes), channels(channels) {}

  /// By what the file is, not by what it is called.
  Result<Pixels> read() const {
    constexpr unsigned char kPng[] = {0x89, 'P', 'N', 'G'}, kJpeg[] = {0xFF, 0xD8, 0xFF};
    if (startsWith(kPng))
      return readPng();
    if (startsWith(kJpeg))
      return readJpeg();
    return fail("it begins neither as a PNG nor as a JPEG file does");
  }

private:
  Error fail(const std::string &what) const {
    return userError(fmt::format("'{}' cannot be read as an image: {}", path, what));
  }

  bool startsWith(std::span<const unsigned char> magic) const {
    return bytes.size() >= magic.size() &&
           std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  }

  Result<Pixels> makePixels(int64_t height, int64_t width) const {
    CheckedSize count = CheckedSize(height) * width;
    if (height < 1 || width < 1 || count.getOr(INT64_MAX) > kMaxPixels)
      return fail(fmt::format("{} x {} pixels; the limit is {} pixels", width, height, kMaxPixels));
    return Pixels{height, width,
                  std::vector<uint8_t>(static_cast<size_t>(height * width * channels))};
  }

  Result<Pixels> readPng() const {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    // Frees what libpng holds, also after its errors.
    std::unique_ptr<png_image, decltype(&png_image_free)> release(&image, &png_image_free);
    if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()))
      return fail(image.message);
    Result<Pixels> pixels = makePixels(image.height, image.width);
    if (!pixels)
      return pixels.error();
    image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    constexpr png_color kWhite = {255, 255, 255};
    if (!png_image_finish_read(&image, &kWhite, pixels->interleaved.data(), 0, nullptr) ||
        PNG_IMAGE_FAILED(image))
      return fail(image.message);
    return pixels;
  }

  Result<Pixels> readJpeg() const {
    std::unique_ptr<void, decltype(&tjDestroy)> decoder(tjInitDecompress(), &tjDestroy);
    if (!decoder)
      return environmentError("out of memory for reading a JPEG file");
    auto *data = reinterpret_cast<const unsigned char *>(bytes.data());
    int width = 0, height = 0, subsampling = 0, colorspace = 0;
    if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling,
                            &colorspace) != 0)
      return fail(tjGetErrorStr2(decoder.get()));
    Result<Pixels> pixels = makePixels(height, width);
    if (!pixels)
      return pixels.error();
    // Warnings count as errors: a truncated file gives a grey rest otherwise.
    if (tjDecompress2(decoder.get(), data, bytes.size(), pixels->interleaved.data(), width,
                      /*pitch=*/0, height, channels == 1 ? TJPF_GRAY : TJPF_RGB,
                      TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING) != 0)
      return fail(tjGetErrorStr2(decoder.get()));
    return pixels;
  }

  const std::string &path;
  std::span<const std::byte> bytes;
  int channels;
};

/// From [height, width, channels] to [channels, height, width].
template <typename T, typename Convert>
std::vector<std::byte> toPlanes(const Pixels &pixels, int channels, Convert convert) {
  size_t count = static_cast<size_t>(pixels.height * pixels.width);
  std::vector<std::byte> data(pixels.interleaved.size() * sizeof(T));
  for (size_t i = 0; i < pixels.interleaved.size(); ++i) {
    size_t pixel = i / static_cast<size_t>(channels), channel = i % static_cast<size_t>(channels);
    T value = convert(pixels.interleaved[i]);
    std::memcpy(data.data() + (channel * count + pixel) * sizeof(T), &value, sizeof(T));
  }
  return data;
}

} // namespace

bool data::isImagePath(const std::string &path) {
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.ends_with(".png") || lower.ends_with(".jpg") || lower.ends_with(".jpeg");
}

Result<rt::HostTensor> data::readImage(const std::string &path, const ImageFormat &format) {
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file)
    return file.error();
  Result<Pixels> pixels = ImageReader(path, file->bytes(), format.channels).read();
  if (!pixels)
    return pixels.error();
  constexpr float kWhite = 255;
  return rt::HostTensor{
      format.dtype,
      {format.channels, pixels->height, pixels->width},
      format.dtype == DType::U8
          ? toPlanes<uint8_t>(*pixels, format.channels, [](uint8_t value) { return value; })
          : toPlanes<float>(*pixels, format.channels,
                            [](uint8_t value) { return static_cast<float>(value) / kWhite; })};
}
