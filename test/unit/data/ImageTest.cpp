// Images as tensors: channels, layout and scale against values set by hand, and files that are not
// what they seem.
#include "runtime/data/Image.h"

#include "test/unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstring>

using namespace nncc;
using namespace nncc::data;

namespace {

std::string encodePng(int width, int height, uint32_t format, const std::vector<uint8_t> &pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<uint32_t>(width);
  image.height = static_cast<uint32_t>(height);
  image.format = format;
  png_alloc_size_t size = 0;
  EXPECT_TRUE(png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr));
  std::string file(size, '\0');
  EXPECT_TRUE(png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr));
  return file;
}

/// A grey JPEG of 8 x 8 equal pixels, bit by bit: all quantisers 1; one Huffman code "0" for a DC
/// difference of 8 bits, one code "0" for the end of the block. The data is 0, 10000000 (a DC
/// coefficient of 128, so 128 / 8 above the middle of 128), 0, and ones to the end of the byte.
std::string flatJpeg() {
  std::string file("\xFF\xD8\xFF\xDB\x00\x43\x00", 7);
  file.append(64, '\x01');
  file += std::string("\xFF\xC0\x00\x0B\x08\x00\x08\x00\x08\x01\x01\x11\x00", 13);
  for (const char *classAndSymbol : {"\x00\x08", "\x10\x00"})
    file += std::string("\xFF\xC4\x00\x14", 4) + classAndSymbol[0] + '\x01' +
            std::string(15, '\0') + classAndSymbol[1];
  file += std::string("\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00\x40\x3F\xFF\xD9", 14);
  return file;
}

std::vector<float> floats(const rt::HostTensor &tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

class Image : public testing::Test {
protected:
  Result<rt::HostTensor> read(const std::string &contents, ImageFormat format,
                              const std::string &name = "x.png") {
    return readImage(folder.write(name, contents), format);
  }
  std::string errorOf(const std::string &contents) {
    Result<rt::HostTensor> image = read(contents, {});
    return image ? "no error" : image.error().message;
  }

  TemporaryFolder folder;
};

} // namespace

TEST_F(Image, IsKnownByItsExtension) {
  EXPECT_TRUE(isImagePath("a.png"));
  EXPECT_TRUE(isImagePath("a.JPG"));
  EXPECT_TRUE(isImagePath("a.jpeg"));
  EXPECT_FALSE(isImagePath("a.npy"));
  EXPECT_FALSE(isImagePath("png"));
}

TEST_F(Image, GreyIsFromZeroToOneInRows) {
  auto image = read(encodePng(3, 2, PNG_FORMAT_GRAY, {0, 51, 102, 153, 204, 255}), {1, DType::F32});
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->shape, (std::vector<int64_t>{1, 2, 3}));
  std::vector<float> values = floats(*image);
  for (int i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(values[i], 0.2f * i);
}

TEST_F(Image, ColoursBecomePlanes) {
  std::string file = encodePng(2, 1, PNG_FORMAT_RGB, {255, 0, 51, 0, 102, 204});
  auto image = read(file, {3, DType::F32});
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->shape, (std::vector<int64_t>{3, 1, 2}));
  std::vector<float> expected = {1, 0, 0, 0.4f, 0.2f, 0.8f}, values = floats(*image);
  for (int i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(values[i], expected[i]);

  auto bytes = read(file, {3, DType::U8});
  ASSERT_TRUE(bytes);
  const uint8_t planes[] = {255, 0, 0, 102, 51, 204};
  ASSERT_EQ(bytes->data.size(), sizeof planes);
  EXPECT_EQ(std::memcmp(bytes->data.data(), planes, sizeof planes), 0);
}

TEST_F(Image, GreyServesAsColourAndWhatIsTransparentIsWhite) {
  auto grey = read(encodePng(1, 1, PNG_FORMAT_GRAY, {51}), {3, DType::U8});
  ASSERT_TRUE(grey);
  EXPECT_EQ(grey->data, std::vector<std::byte>(3, std::byte(51)));
  auto clear = read(encodePng(1, 1, PNG_FORMAT_RGBA, {10, 20, 30, 0}), {3, DType::U8});
  ASSERT_TRUE(clear);
  EXPECT_EQ(clear->data, std::vector<std::byte>(3, std::byte(255)));
}

TEST_F(Image, ReadsJpegWhateverItIsCalled) {
  for (const char *name : {"x.jpg", "x.png"}) {
    auto image = read(flatJpeg(), {1, DType::U8}, name);
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(image->shape, (std::vector<int64_t>{1, 8, 8}));
    EXPECT_EQ(image->data, std::vector<std::byte>(64, std::byte(144)));
  }
}

TEST_F(Image, NamesTheProblem) {
  EXPECT_NE(errorOf("P2 1 1").find("it begins neither as a PNG nor as a JPEG file does"),
            std::string::npos);
  std::string png = encodePng(3, 2, PNG_FORMAT_GRAY, {0, 51, 102, 153, 204, 255});
  EXPECT_NE(errorOf(png.substr(0, png.size() - 20)).find("cannot be read as an image: "),
            std::string::npos);
  EXPECT_NE(errorOf(flatJpeg().substr(0, 100)).find("cannot be read as an image: "),
            std::string::npos);
  Result<rt::HostTensor> missing = readImage(folder / "none.png", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::User);
  // 65500 x 65500 pixels, in a file of some hundred bytes.
  std::string large = flatJpeg();
  size_t extents = large.find("\xFF\xC0") + 5;
  large.replace(extents, 4, "\xFF\xDC\xFF\xDC");
  EXPECT_NE(errorOf(large).find("65500 x 65500 pixels; the limit is"), std::string::npos)
      << errorOf(large);
}

TEST_F(Image, SurvivesDamage) {
  for (std::string file :
       {encodePng(3, 2, PNG_FORMAT_GRAY, {0, 51, 102, 153, 204, 255}), flatJpeg()})
    for (size_t i = 0; i < file.size(); ++i) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(~damaged[i]);
      (void)bool(read(damaged, {}));
      (void)bool(read(file.substr(0, i), {}));
    }
}
