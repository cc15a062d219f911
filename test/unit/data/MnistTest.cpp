// MNIST: the digits that come with the project, pairs laid out by hand, the choice among several
// pairs, and files that do not belong together.
#include "SourceTesting.h"
#include "test/unit/runtime/TemporaryFolder.h"

#include <zlib.h>

#include <numeric>

using namespace nncc;
using namespace nncc::data;

namespace {

const std::string kDigits = NNCC_TEST_SOURCE "/test/data/mnist";

/// Two images of 1 x 3 pixels.
const std::string kImages =
    bytesOf({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 10, 20, 30, 40, 50, 60});
const std::string kLabels = bytesOf({0, 0, 8, 1, 0, 0, 0, 2, 7, 200});

void writePair(const TemporaryFolder &folder, const std::string &stem, int firstLabel) {
  folder.write(stem + "-images-idx3-ubyte", kImages);
  folder.write(stem + "-labels-idx1-ubyte", bytesOf({0, 0, 8, 1, 0, 0, 0, 2, firstLabel, 1}));
}

int64_t firstLabelOf(const std::string &spec, Split split) {
  auto source = openData(spec, split);
  EXPECT_TRUE(source) << source.error().message;
  return source ? readField<int64_t>(**source, 0, 1)[0] : -1;
}

} // namespace

TEST(Mnist, ReadsTheDigitsOfTheProject) {
  for (const std::string &spec :
       {kDigits, "mnist:" + kDigits, kDigits + "/digits1k-images-idx3-ubyte.gz",
        "mnist:" + kDigits + "/digits1k"}) {
    auto source = openData(spec, Split::Train);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->sampleCount(), 1000);
    ASSERT_EQ((*source)->fields().size(), 2u);
    EXPECT_EQ(describe((*source)->fields()[0]), "image: u8[1, 28, 28]");
    EXPECT_EQ(describe((*source)->fields()[1]), "label: i64[]");
    // The first bytes of the labels, as `zcat digits1k-labels-idx1-ubyte.gz | xxd` shows them.
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < 8; ++i)
      labels.push_back(readField<int64_t>(**source, i, 1)[0]);
    EXPECT_EQ(labels, (std::vector<int64_t>{2, 6, 6, 7, 0, 4, 1, 0}));
    // Zlib by another way gives the same last image.
    gzFile file = gzopen((kDigits + "/digits1k-images-idx3-ubyte.gz").c_str(), "rb");
    std::vector<uint8_t> image(784);
    gzseek(file, 16 + 999 * 784, SEEK_SET);
    ASSERT_EQ(gzread(file, image.data(), 784), 784);
    gzclose(file);
    EXPECT_EQ(readField<uint8_t>(**source, 999, 0), image);
    EXPECT_TRUE(checkLabels(**source, "label", 10));
  }
}

TEST(Mnist, WidensLabelsAndAddsTheChannel) {
  TemporaryFolder folder;
  std::string images = folder.write("a", kImages), labels = folder.write("b", kLabels);
  auto source = openData("mnist:" + images + "," + labels, Split::Train);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->fields()[0].shape, (std::vector<int64_t>{1, 1, 3}));
  EXPECT_EQ(readField<uint8_t>(**source, 1, 0), (std::vector<uint8_t>{40, 50, 60}));
  EXPECT_EQ(readField<int64_t>(**source, 1, 1), (std::vector<int64_t>{200}));
}

TEST(Mnist, NamesTheSampleWhoseLabelIsOutOfRange) {
  TemporaryFolder folder;
  std::string images = folder.write("a", kImages), labels = folder.write("b", kLabels);
  auto source = openData("mnist:" + images + "," + labels, Split::Train);
  ASSERT_TRUE(source);
  Result<void> checked = checkLabels(**source, "label", 10);
  ASSERT_FALSE(checked);
  EXPECT_CONTAINS(checked.error().message,
                  "label 200 of sample 1 in '" + labels + "'; the model has 10 classes, 0 to 9");
  EXPECT_TRUE(checkLabels(**source, "label", 201));
  EXPECT_TRUE(checkLabels(**source, "label", 10, 200));
  EXPECT_FALSE(checkLabels(**source, "label", 10, -100));
}

TEST(Mnist, TheNamesOfAFolderPickTheSplit) {
  TemporaryFolder folder;
  writePair(folder, "train9k", 1);
  writePair(folder, "t10k", 2);
  writePair(folder, "digits", 3);
  std::string path = folder / "";
  EXPECT_EQ(firstLabelOf(path, Split::Train), 1);
  EXPECT_EQ(firstLabelOf(path, Split::Test), 2);
  EXPECT_EQ(firstLabelOf("mnist:" + (folder / "digits"), Split::Train), 3);
  writePair(folder, "train", 4);
  EXPECT_CONTAINS(openError(path), "found several of the pairs digits, t10k, train, train9k; name "
                                   "one as mnist:");
  EXPECT_CONTAINS(openError(folder / "other"), "No such file");
  EXPECT_CONTAINS(openError("mnist:" + (folder / "other")),
                  "has the pairs digits, t10k, train, train9k");
}

TEST(Mnist, ATestSetIsNotTakenForTraining) {
  TemporaryFolder folder;
  writePair(folder, "t10k", 2);
  EXPECT_CONTAINS(openError(folder / ""), "found none of the pairs t10k");
  EXPECT_EQ(firstLabelOf(folder / "", Split::Test), 2);
}

TEST(Mnist, RefusesWhatDoesNotFit) {
  TemporaryFolder folder;
  std::string images = folder.write("a", kImages), labels = folder.write("b", kLabels);
  auto errorOf = [&](const std::string &a, const std::string &b) {
    return openError("mnist:" + folder.write("x", a) + "," + folder.write("y", b));
  };
  EXPECT_CONTAINS(errorOf(kLabels, kImages),
                  "/x': expected images, u8[N, height, width], found u8[2]");
  EXPECT_CONTAINS(errorOf(kImages, kImages), "expected labels, u8[N] or i32[N], found u8[2, 1, 3]");
  EXPECT_CONTAINS(errorOf(kImages, bytesOf({0, 0, 8, 1, 0, 0, 0, 1, 7})),
                  "has 2 images, but '" + (folder / "y") + "' has 1 labels");
  EXPECT_CONTAINS(errorOf(bytesOf({0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3}),
                          bytesOf({0, 0, 8, 1, 0, 0, 0, 0})),
                  "expected at least one sample, found none");
  EXPECT_CONTAINS(errorOf(bytesOf({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3}), kLabels),
                  "image: u8[1, 0, 3] has no elements");
  EXPECT_CONTAINS(errorOf(kImages + "!", kLabels), "but more follow");
  EXPECT_CONTAINS(openError("mnist:" + images), "no file of labels is beside it");
  EXPECT_CONTAINS(openError("mnist:a,b,c"), "expected one path or two");
}

TEST(Mnist, RefusesEveryTruncation) {
  TemporaryFolder folder;
  std::string labels = folder.write("b", kLabels);
  for (size_t i = 0; i < kImages.size(); ++i)
    EXPECT_NE(openError("mnist:" + folder.write("a", kImages.substr(0, i)) + "," + labels),
              "no error")
        << i;
  // Compressed: what is missing is found by zlib, also behind the data.
  std::string packed = TemporaryFolder::read(kDigits + "/digits1k-labels-idx1-ubyte.gz");
  for (size_t missing : {1, 4, 8, 9, 100})
    EXPECT_CONTAINS(openError("mnist:" + kDigits + "/digits1k-images-idx3-ubyte.gz," +
                              folder.write("l.gz", packed.substr(0, packed.size() - missing))),
                    "its compressed contents are truncated");
  packed[packed.size() - 6] ^= 1; // the checksum
  EXPECT_CONTAINS(openError("mnist:" + kDigits + "/digits1k-images-idx3-ubyte.gz," +
                            folder.write("l.gz", packed)),
                  "its compressed contents are damaged");
}
