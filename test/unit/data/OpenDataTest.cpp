// The text that names a data set: formats, options, ranges, and what is wrong with it.
#include "SourceTesting.h"
#include "test/unit/runtime/TemporaryFolder.h"

using namespace nncc;
using namespace nncc::data;

namespace {
const std::string kDigits = NNCC_TEST_SOURCE "/test/data/mnist";
}

TEST(OpenData, ARangeIsPartOfTheSamples) {
  auto whole = openData(kDigits, Split::Train);
  auto part = openData(kDigits + "?range=990:", Split::Train);
  ASSERT_TRUE(whole && part);
  EXPECT_EQ((*part)->sampleCount(), 10);
  EXPECT_EQ(readField<uint8_t>(**part, 3, 0), readField<uint8_t>(**whole, 993, 0));
  EXPECT_EQ((*part)->locate(3, 1), (*whole)->locate(993, 1));
  auto first = openData(kDigits + "?range=:10", Split::Train);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->sampleCount(), 10);
  for (const char *range : {"5:5", "-1:5", "0:1001", "5", "a:b", "7:3"})
    EXPECT_CONTAINS(openError(kDigits + "?range=" + range),
                    "expected range=BEGIN:END with 0 <= BEGIN < END <= 1000");
}

TEST(OpenData, RefusesWhatItDoesNotKnow) {
  TemporaryFolder folder;
  EXPECT_CONTAINS(openError(folder / "none"), "cannot open '" + (folder / "none") + "'");
  EXPECT_CONTAINS(openError(folder.write("x.dat", "hello")),
                  "is a data set of no known format by its first bytes and its name");
  EXPECT_CONTAINS(openError(folder.write("y.dat", "")), "is empty");
  EXPECT_CONTAINS(openError(folder / ""), "it holds x.dat, y.dat");
  EXPECT_CONTAINS(openError(kDigits + "?label=3"), "mnist has no option 'label'; it has range");
  EXPECT_CONTAINS(openError(kDigits + "?label"), "expected OPTION=VALUE");
  EXPECT_CONTAINS(openError("mnist:"), "expected a path");
  EXPECT_CONTAINS(openError("/dev/null"), "found a device");
}

TEST(OpenData, DescribesEveryFormat) {
  std::string text = describeFormats();
  for (const char *name :
       {"mnist", "cifar10", "cifar100", "npy", "npz", "safetensors", "csv", "images"})
    EXPECT_CONTAINS(text, std::string("  ") + name);
}
