// CIFAR: records laid out by hand, several files as one data set, class names, damaged files.
#include "SourceTesting.h"
#include "test/unit/runtime/TemporaryFolder.h"

using namespace nncc;
using namespace nncc::data;

namespace {

constexpr size_t kImageBytes = 3072;

/// An image whose bytes count up from `first`.
std::string image(int first) {
  std::string bytes(kImageBytes, '\0');
  for (size_t i = 0; i < kImageBytes; ++i)
    bytes[i] = static_cast<char>(static_cast<size_t>(first) + i);
  return bytes;
}

std::string record(std::initializer_list<int> labels, int first) {
  return bytesOf(labels) + image(first);
}

std::vector<uint8_t> pixels(int first) {
  std::string bytes = image(first);
  return {bytes.begin(), bytes.end()};
}

} // namespace

TEST(Cifar, BatchesOfAFolderAreOneDataSet) {
  TemporaryFolder folder;
  std::string second = folder.write("data_batch_2.bin", record({9}, 3));
  folder.write("data_batch_1.bin", record({1}, 1) + record({2}, 2));
  folder.write("test_batch.bin", record({4}, 4));
  folder.write("batches.meta.txt", "airplane\nautomobile\n\n");
  auto train = openData(folder / "", Split::Train), test = openData(folder / "", Split::Test);
  ASSERT_TRUE(train) << train.error().message;
  ASSERT_TRUE(test) << test.error().message;
  EXPECT_EQ((*train)->sampleCount(), 3);
  EXPECT_EQ((*test)->sampleCount(), 1);
  EXPECT_EQ(describe((*train)->fields()[0]), "image: u8[3, 32, 32]");
  EXPECT_EQ((*train)->classNames(), (std::vector<std::string>{"airplane", "automobile"}));
  const int64_t labels[] = {1, 2, 9};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(readField<int64_t>(**train, i, 1)[0], labels[i]);
    EXPECT_EQ(readField<uint8_t>(**train, i, 0), pixels(i + 1));
  }
  EXPECT_EQ(readField<int64_t>(**test, 0, 1)[0], 4);
  // The third sample is the first of its file.
  EXPECT_EQ((*train)->locate(2, 1), "sample 0 in '" + second + "'");
}

TEST(Cifar, HundredClassesHaveTwoLabels) {
  TemporaryFolder folder;
  folder.write("train.bin", record({19, 99}, 1) + record({3, 42}, 2));
  folder.write("fine_label_names.txt", "apple\r\naquarium_fish\r\n");
  auto source = openData(folder / "", Split::Train);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(describe((*source)->fields()[2]), "coarse_label: i64[]");
  EXPECT_EQ(readField<int64_t>(**source, 0, 1)[0], 99);
  EXPECT_EQ(readField<int64_t>(**source, 1, 2)[0], 3);
  EXPECT_EQ(readField<uint8_t>(**source, 1, 0), pixels(2));
  EXPECT_EQ((*source)->classNames()[1], "aquarium_fish");
  EXPECT_CONTAINS(openError(folder / "", Split::Test),
                  "expected test.bin for test, found fine_label_names.txt, train.bin");
}

TEST(Cifar, FilesAreKnownByTheirSize) {
  TemporaryFolder folder;
  auto ten = openData(folder.write("a.bin", record({1}, 1)), Split::Train);
  ASSERT_TRUE(ten) << ten.error().message;
  EXPECT_EQ((*ten)->fields().size(), 2u);
  auto hundred = openData(folder.write("b.bin", record({1, 50}, 1)), Split::Train);
  ASSERT_TRUE(hundred) << hundred.error().message;
  EXPECT_EQ((*hundred)->fields().size(), 3u);
}

TEST(Cifar, RefusesEveryTruncation) {
  TemporaryFolder folder;
  std::string whole = record({1}, 1);
  for (size_t i = 1; i < whole.size(); i += i < 8 || i > 3060 ? 1 : 101)
    EXPECT_CONTAINS(openError("cifar10:" + folder.write("a.bin", whole.substr(0, i))),
                    "expected records of 3073 bytes, found " + std::to_string(i) + " bytes");
  EXPECT_CONTAINS(openError("cifar10:" + folder.write("a.bin", "")), "found none");
  EXPECT_CONTAINS(openError("cifar10:" + (folder / "none")), "No such file");
}
