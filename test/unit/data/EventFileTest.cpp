// CRC-32C against the vectors of RFC 3720, B.4, and places where no event file can be;
// event_file.py tests what is in them.
#include "runtime/data/EventFile.h"
#include "SourceTesting.h"
#include "test/unit/runtime/TemporaryFolder.h"

using namespace nncc;
using namespace nncc::data;

TEST(EventFile, KnownChecksums) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(EventFile, NamesTheProblem) {
  TemporaryFolder folder;
  Result<EventFile> file = EventFile::create(folder.write("x", "") + "/run");
  ASSERT_FALSE(file);
  EXPECT_CONTAINS(file.error().message, "cannot make the folder '" + (folder / "x/run") + "'");
}
