// Idx: files laid out by hand, plain and compressed.
#include "runtime/data/Idx.h"

#include "test/unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <zlib.h>

using namespace nncc;
using namespace nncc::rt;
using namespace nncc::data;

namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values)
    text.push_back(static_cast<char>(value));
  return text;
}

const std::string kImages =
    bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 10, 20, 30, 40, 50, 60});

} // namespace

TEST(Idx, ReadsPlainAndCompressedFiles) {
  TemporaryFolder folder;
  std::string plain = folder.write("images", kImages), packed = folder / "images.gz";
  gzFile file = gzopen(packed.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, kImages.data(), static_cast<unsigned>(kImages.size())),
            static_cast<int>(kImages.size()));
  gzclose(file);
  for (const std::string &path : {plain, packed}) {
    Result<HostTensor> tensor = readIdx(path);
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->dtype, DType::U8);
    EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 1, 3}));
    EXPECT_EQ(std::to_integer<int>(tensor->data[5]), 60);
  }
}

TEST(Idx, TurnsBigEndianElements) {
  TemporaryFolder folder;
  Result<HostTensor> tensor =
      readIdx(folder.write("x", bytes({0, 0, 12, 1, 0, 0, 0, 1, 0, 0, 1, 2})));
  ASSERT_TRUE(tensor);
  int32_t value;
  memcpy(&value, tensor->data.data(), 4);
  EXPECT_EQ(value, 258);
}

TEST(Idx, NamesTheProblem) {
  TemporaryFolder folder;
  auto errorOf = [&](const std::string &contents) {
    Result<HostTensor> result = readIdx(folder.write("x", contents));
    return result ? std::string("no error") : result.error().message;
  };
  EXPECT_NE(errorOf("hello").find("does not begin as an IDX file does"), std::string::npos);
  EXPECT_NE(errorOf(bytes({0, 0, 99, 1})).find("unknown element type 99"), std::string::npos);
  EXPECT_NE(errorOf(kImages.substr(0, 9)).find("ends inside its header"), std::string::npos);
  EXPECT_NE(errorOf(kImages.substr(0, 20)).find("needs 6 bytes of data, found 4"),
            std::string::npos);
  EXPECT_NE(errorOf(bytes({0, 0, 8, 4, 127, 0, 0, 0, 127, 0, 0, 0, 127, 0, 0, 0, 127, 0, 0, 0}))
                .find("63 bits"),
            std::string::npos);
  EXPECT_NE(readIdx(folder / "none").error().message.find("No such file"), std::string::npos);
}
