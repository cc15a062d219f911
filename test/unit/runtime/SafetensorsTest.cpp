// Safetensors: files as the format describes them, written out by hand; every rule violated once;
// thousands of damaged files.
#include "runtime/Safetensors.h"

#include "TemporaryFolder.h"
#include "runtime/File.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace nncc;
using namespace nncc::rt;

namespace {

std::span<const std::byte> bytesOf(const std::string &text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

std::string fileWith(const std::string &header, const std::string &data) {
  std::string file;
  for (size_t i = 0; i < 8; ++i)
    file.push_back(static_cast<char>(header.size() >> (8 * i)));
  return file + header + data;
}

std::string errorOf(const std::string &file) {
  Result<Safetensors> result = Safetensors::parse(bytesOf(file), "w.safetensors");
  return result ? "no error" : result.error().message;
}

#define EXPECT_ERROR(file, text)                                                                   \
  EXPECT_NE(errorOf(file).find(text), std::string::npos) << errorOf(file)

const std::string kValid = fileWith(
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("a":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},"e":{"dtype":"I64","shape":[0,4],"data_offsets":[8,8]}})",
    std::string("\0\0\x80\x3f\0\0\0\x40xyz", 11));

} // namespace

TEST(Safetensors, ReadsTensorsWithoutCopying) {
  Result<Safetensors> file = Safetensors::parse(bytesOf(kValid), "w");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->entries().size(), 3u);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  const SafetensorsEntry *b = file->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, DType::F32);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(b->data.data(), bytesOf(kValid).data() + kValid.size() - 11);
  float values[2];
  std::memcpy(values, b->data.data(), 8);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], 2.0f);
  EXPECT_EQ(file->find("e")->data.size(), 0u);
  EXPECT_EQ(file->find("c"), nullptr);
}

TEST(Safetensors, KeepsDtypesThatNnccDoesNotComputeWith) {
  std::string file =
      fileWith(R"({"q":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", "ab");
  Result<Safetensors> result = Safetensors::parse(bytesOf(file), "w");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->find("q")->dtype, std::nullopt);
  EXPECT_EQ(result->find("q")->dtypeName, "F8_E4M3");
}

TEST(Safetensors, RefusesWhatTheFormatForbids) {
  auto one = [](const std::string &entry, size_t dataBytes) {
    return fileWith("{\"t\":" + entry + "}", std::string(dataBytes, 'x'));
  };
  EXPECT_ERROR("", "expected at least 8 bytes, found 0");
  EXPECT_ERROR(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8), "the limit is 100000000");
  EXPECT_ERROR(std::string("\x10\0\0\0\0\0\0\0{}", 10), "only 2 follow; the file may be truncated");
  EXPECT_ERROR(fileWith("[]", ""), "not a JSON object");
  EXPECT_ERROR(fileWith("{\"t\":", ""), "not valid JSON");
  EXPECT_ERROR(fileWith("{} {}", ""), "not valid JSON");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 7),
               "tensor 't': bytes 0 to 8 lie outside the data, which has 7 bytes; the file may be "
               "truncated");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", 8),
               "tensor 't': dtype and shape need 12 bytes, but bytes 0 to 8 are given");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", 8),
               "bytes 8 to 0 lie outside");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", 8),
               "data_offsets [begin, end]");
  EXPECT_ERROR(one(R"({"dtype":"F32","data_offsets":[0,4]})", 4),
               "expected the fields dtype, shape");
  EXPECT_ERROR(one(R"({"shape":[],"data_offsets":[0,4]})", 4), "expected the fields dtype, shape");
  EXPECT_ERROR(one(R"({"dtype":"F33","shape":[],"data_offsets":[0,4]})", 4),
               "unknown dtype \"F33\"");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4),
               "expected a number >= 0, found -1");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})", 4),
               "expected an integer");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})", 4),
               "does not fit in 63 bits");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]})", 4),
               "the product of its shape does not fit in 63 bits");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[[1]],"data_offsets":[0,4]})", 4),
               "an array has no place here");
  EXPECT_ERROR(one(R"({"dtype":{},"shape":[1],"data_offsets":[0,4]})", 4),
               "an object has no place here");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})", 4),
               "unknown field \"x\"");
  EXPECT_ERROR(one(R"({"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]})", 4),
               "entry 't': the field \"dtype\" occurs twice");
  EXPECT_ERROR(one(R"({"dtype":"F32","shape":[2],"shape":[1],"data_offsets":[0,4]})", 4),
               "entry 't': the field \"shape\" occurs twice");
  EXPECT_ERROR(fileWith(R"({"__metadata__":{},"__metadata__":{}})", ""),
               "entry '__metadata__': it occurs twice");
  EXPECT_ERROR(fileWith("{\"\xff\":{}}", ""), "not valid JSON at byte");
  EXPECT_ERROR(one("3", 4), "entry 't': a number has no place here");
  EXPECT_ERROR(one("null", 4), "null has no place");
}

TEST(Safetensors, RefusesHolesOverlapsAndRepeatedNames) {
  auto two = [](const std::string &nameB, const std::string &rangeB, size_t dataBytes) {
    return fileWith(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},")" + nameB +
                        R"(":{"dtype":"U8","shape":[4],"data_offsets":)" + rangeB + "}}",
                    std::string(dataBytes, 'x'));
  };
  EXPECT_EQ(errorOf(two("b", "[4,8]", 8)), "no error");
  EXPECT_ERROR(two("b", "[5,9]", 9),
               "tensor 'b': bytes 5 to 9 leave a hole after the tensor before it, which ends at 4");
  EXPECT_ERROR(two("b", "[3,7]", 7),
               "tensor 'b': bytes 3 to 7 overlap the tensor before it, which ends at 4");
  EXPECT_ERROR(two("b", "[4,8]", 9), "its tensors end at byte 8 of the data, which has 9 bytes");
  EXPECT_ERROR(two("a", "[4,8]", 8), "tensor 'a' occurs twice");
}

TEST(Safetensors, WritesWhatItReads) {
  TemporaryFolder folder;
  std::string weights(12, 'w'), bias(1, 'b');
  std::vector<SafetensorsSource> sources = {{"fc.weight", DType::F32, {3, 1}, bytesOf(weights)},
                                            {"fc.flag", DType::Bool, {}, bytesOf(bias)},
                                            {"fc.half", DType::BF16, {6}, bytesOf(weights)}};
  for (SafetensorsAlignment alignment :
       {SafetensorsAlignment::Start, SafetensorsAlignment::EachTensor}) {
    std::string path = folder / "w.safetensors";
    ASSERT_TRUE(writeSafetensors(path, sources, {{"build", "17"}}, alignment));
    Result<std::string> image = serializeSafetensors(sources, {{"build", "17"}}, alignment);
    ASSERT_TRUE(image);
    EXPECT_EQ(TemporaryFolder::read(path), *image);
    Result<MappedFile> mapped = MappedFile::open(path);
    ASSERT_TRUE(mapped);
    Result<Safetensors> file = Safetensors::parse(mapped->bytes(), path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->metadata().at("build"), "17");
    for (const SafetensorsSource &source : sources) {
      const SafetensorsEntry *entry = file->find(source.name);
      ASSERT_NE(entry, nullptr);
      EXPECT_EQ(entry->dtype, source.dtype);
      EXPECT_EQ(entry->shape, source.shape);
      EXPECT_TRUE(std::equal(entry->data.begin(), entry->data.end(), source.data.begin(),
                             source.data.end()));
      size_t offset = static_cast<size_t>(entry->data.data() - mapped->bytes().data());
      if (alignment == SafetensorsAlignment::EachTensor || &source == &sources[0]) {
        EXPECT_EQ(offset % 64, 0u) << source.name;
      }
    }
  }
}

TEST(Safetensors, RefusesToWriteNonsense) {
  std::string data(4, 'x');
  std::vector<SafetensorsSource> twice = {{"a", DType::F32, {1}, bytesOf(data)},
                                          {"a", DType::F32, {1}, bytesOf(data)}};
  EXPECT_FALSE(serializeSafetensors(twice, {}, SafetensorsAlignment::Start));
  std::vector<SafetensorsSource> wrongSize = {{"a", DType::F32, {2}, bytesOf(data)}};
  EXPECT_FALSE(serializeSafetensors(wrongSize, {}, SafetensorsAlignment::Start));
}

// Damaged files either are refused or read as tensors that lie inside the file.
TEST(Safetensors, SurvivesDamage) {
  std::mt19937 random(23);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string file = kValid;
    for (int k = 0; k < 1 + i % 4; ++k)
      switch (random() % 4) {
      case 0:
        file[random() % file.size()] = static_cast<char>(random());
        break;
      case 1:
        file.erase(random() % file.size(), 1 + random() % 4);
        break;
      case 2:
        file.insert(random() % file.size(), 1, "0123456789{}[]\",:"[random() % 17]);
        break;
      case 3:
        file[8 + random() % (file.size() - 19)] = "0123456789{}[]\",:"[random() % 17];
        break;
      }
    Result<Safetensors> result = Safetensors::parse(bytesOf(file), "w");
    if (!result) {
      ++refused;
      continue;
    }
    for (const SafetensorsEntry &entry : result->entries()) {
      ASSERT_GE(entry.data.data(), bytesOf(file).data());
      ASSERT_LE(entry.data.data() + entry.data.size(), bytesOf(file).data() + file.size());
    }
  }
  EXPECT_GT(refused, 3000);
}
