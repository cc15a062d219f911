// Text: where samples lie and what follows them, several files, and what is too short.
#include "SourceTesting.h"
#include "test/unit/runtime/TemporaryFolder.h"

using namespace nncc;
using namespace nncc::data;

namespace {

/// The bytes of both fields of a sample as text, each from i64 elements.
std::pair<std::string, std::string> piecesOf(const DataSource &source, int64_t sample) {
  std::string texts[2];
  for (size_t field = 0; field < 2; ++field)
    for (int64_t value : readField<int64_t>(source, sample, field))
      texts[field] += static_cast<char>(value);
  return {texts[0], texts[1]};
}

} // namespace

TEST(TextData, PiecesAndWhatFollows) {
  TemporaryFolder folder;
  std::string path = folder.write("a.txt", "hello, world");
  auto source = openData(path + "?length=4", Split::Train);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(describe((*source)->fields()[0]), "tokens: i64[4]");
  EXPECT_EQ(describe((*source)->fields()[1]), "following: i64[4]");
  ASSERT_EQ((*source)->sampleCount(), 2); // a third one would have nothing behind its last byte
  EXPECT_EQ(piecesOf(**source, 0), std::pair(std::string("hell"), std::string("ello")));
  EXPECT_EQ(piecesOf(**source, 1), std::pair(std::string("o, w"), std::string(", wo")));
}

TEST(TextData, OverlappingPiecesOfSeveralFiles) {
  TemporaryFolder folder;
  std::string spec = "text:" + folder.write("a", "abcd") + "," + folder.write("b", "\xff\x01xy") + "?length=2&stride=1";
  auto source = openData(spec, Split::Test);
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_EQ((*source)->sampleCount(), 4);
  EXPECT_EQ(piecesOf(**source, 1), std::pair(std::string("bc"), std::string("cd")));
  EXPECT_EQ(piecesOf(**source, 2), std::pair(std::string("\xff\x01"), std::string("\x01x")));
}

TEST(TextData, RefusesWhatMakesNoSample) {
  TemporaryFolder folder;
  std::string path = folder.write("a.txt", "abcd");
  EXPECT_CONTAINS(openError(path + "?length=4"), "has 4 bytes, and a sample of length=4 takes 5");
  EXPECT_CONTAINS(openError(path + "?length=0"), "expected length=N with N from 1 to");
  EXPECT_CONTAINS(openError(path + "?stride=x"), "found 'x'");
}
