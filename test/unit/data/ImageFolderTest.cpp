// Folders of images: classes, splits, sizes; resizing against a plain loop over all pixels.
#include "SourceTesting.h"
#include "runtime/data/Resize.h"
#include "test/unit/runtime/TemporaryFolder.h"

#include <png.h>

#include <cmath>
#include <filesystem>
#include <random>

using namespace nncc;
using namespace nncc::data;

namespace {

void writePng(const std::string &path, int width, int height, const std::vector<uint8_t> &grey) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<uint32_t>(width);
  image.height = static_cast<uint32_t>(height);
  image.format = PNG_FORMAT_GRAY;
  ASSERT_TRUE(png_image_write_to_file(&image, path.c_str(), 0, grey.data(), 0, nullptr));
}

} // namespace

TEST(ImageFolder, ClassesAreNumberedByName) {
  TemporaryFolder folder;
  writePng(folder / "zebra/b.png", 2, 1, {10, 20});
  writePng(folder / "zebra/a.PNG", 2, 1, {30, 40});
  writePng(folder / "cat/c.png", 2, 1, {50, 60});
  auto source = openData((folder / "") + "?channels=1", Split::Train);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->classNames(), (std::vector<std::string>{"cat", "zebra"}));
  EXPECT_EQ(describe((*source)->fields()[0]), "image: u8[1, 1, 2]");
  ASSERT_EQ((*source)->sampleCount(), 3);
  const std::vector<uint8_t> images[] = {{50, 60}, {30, 40}, {10, 20}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(readField<uint8_t>(**source, i, 0), images[i]);
    EXPECT_EQ(readField<int64_t>(**source, i, 1)[0], i > 0);
  }
  EXPECT_EQ((*source)->locate(2, 0), "'" + (folder / "zebra/b.png") + "'");
  auto colour = openData("images:" + (folder / ""), Split::Train);
  ASSERT_TRUE(colour);
  EXPECT_EQ(readField<uint8_t>(**colour, 2, 0), (std::vector<uint8_t>{10, 20, 10, 20, 10, 20}));
}

TEST(ImageFolder, HasFoldersForSplits) {
  TemporaryFolder folder;
  writePng(folder / "train/a/x.png", 1, 1, {1});
  writePng(folder / "val/a/x.png", 1, 1, {2});
  auto train = openData(folder / "", Split::Train), test = openData(folder / "", Split::Test);
  ASSERT_TRUE(train) << train.error().message;
  ASSERT_TRUE(test) << test.error().message;
  EXPECT_EQ(readField<uint8_t>(**train, 0, 0)[0], 1);
  EXPECT_EQ(readField<uint8_t>(**test, 0, 0)[0], 2);
  std::filesystem::remove_all(folder / "val");
  EXPECT_CONTAINS(openError(folder / "", Split::Test),
                  "expected one folder for test, found train/");
}

TEST(ImageFolder, RefusesWhatDoesNotFit) {
  TemporaryFolder folder;
  writePng(folder / "a/x.png", 2, 2, {1, 2, 3, 4});
  writePng(folder / "b/y.png", 3, 2, {1, 2, 3, 4, 5, 6});
  auto source = openData(folder / "", Split::Train);
  ASSERT_TRUE(source);
  std::vector<std::byte> bytes(12);
  Result<void> read = (*source)->read(1, std::vector<std::span<std::byte>>{bytes, {}});
  ASSERT_FALSE(read);
  EXPECT_CONTAINS(read.error().message,
                  "b/y.png' has 3 x 2 pixels (width x height), but the first image of the data has "
                  "2 x 2; say size=HEIGHTxWIDTH");
  for (const char *option : {"size=0", "size=2x", "size=99999", "size=a"})
    EXPECT_CONTAINS(openError((folder / "") + "?" + option), "expected size=PIXELS");
  EXPECT_CONTAINS(openError((folder / "") + "?fit=pad"), "expected fit=crop or fit=stretch");
  EXPECT_CONTAINS(openError((folder / "") + "?channels=4"), "expected channels=1");
  folder.write("a/notes.txt", "hello");
  EXPECT_CONTAINS(openError(folder / ""), "a/notes.txt' is not .png, .jpg or .jpeg; convert or "
                                          "remove it");
  std::filesystem::remove(folder / "a/notes.txt");
  folder.write("a/z.png", "not an image");
  auto damaged = openData(folder / "", Split::Train);
  ASSERT_TRUE(damaged);
  Result<void> failed = (*damaged)->read(1, std::vector<std::span<std::byte>>{bytes, {}});
  ASSERT_FALSE(failed);
  EXPECT_CONTAINS(failed.error().message, "a/z.png' cannot be read as an image");
  std::filesystem::create_directory(folder / "c");
  EXPECT_CONTAINS(openError(folder / ""), "expected images of a class");
}

TEST(Resize, EqualsTheSumOverAllPixels) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> bytes(0, 255);
  const int64_t sizes[][4] = {
      {7, 5, 3, 4}, {4, 6, 9, 13}, {8, 8, 8, 8}, {1, 1, 3, 2}, {9, 2, 2, 9}};
  for (auto [height, width, newHeight, newWidth] : sizes)
    for (ImageFit fit : {ImageFit::Crop, ImageFit::Stretch}) {
      std::vector<uint8_t> from(static_cast<size_t>(2 * height * width));
      for (uint8_t &value : from)
        value = static_cast<uint8_t>(bytes(random));
      std::vector<uint8_t> to(static_cast<size_t>(2 * newHeight * newWidth));
      resizePlanes(from, 2, height, width, to, newHeight, newWidth, fit);
      double scaleY = double(height) / double(newHeight), scaleX = double(width) / double(newWidth);
      if (fit == ImageFit::Crop)
        scaleY = scaleX = std::min(scaleY, scaleX);
      double top = (double(height) - scaleY * double(newHeight)) / 2;
      double left = (double(width) - scaleX * double(newWidth)) / 2;
      for (int64_t c = 0; c < 2; ++c)
        for (int64_t y = 0; y < newHeight; ++y)
          for (int64_t x = 0; x < newWidth; ++x) {
            double sum = 0, weights = 0;
            for (int64_t v = 0; v < height; ++v)
              for (int64_t u = 0; u < width; ++u) {
                double dy = std::abs(double(v) + 0.5 - top - (double(y) + 0.5) * scaleY);
                double dx = std::abs(double(u) + 0.5 - left - (double(x) + 0.5) * scaleX);
                double weight = std::max(0.0, 1 - dy / std::max(scaleY, 1.0)) *
                                std::max(0.0, 1 - dx / std::max(scaleX, 1.0));
                sum += weight * from[static_cast<size_t>((c * height + v) * width + u)];
                weights += weight;
              }
            EXPECT_NEAR(to[static_cast<size_t>((c * newHeight + y) * newWidth + x)], sum / weights,
                        0.5001);
          }
    }
}

TEST(Resize, HalvingTakesTheTriangle) {
  // 0 0 255 255 to half: the triangle of a new pixel is four old ones wide, weights 1 3 3 1, and
  // the pixels outside are left out.
  std::vector<uint8_t> from = {0, 0, 255, 255}, to(2);
  resizePlanes(from, 1, 1, 4, to, 1, 2, ImageFit::Stretch);
  EXPECT_EQ(to, (std::vector<uint8_t>{36, 219})); // 255 / 7 and 255 * 6 / 7
}
