// Data sets of named arrays: .npy files, .npz archives laid out by hand after the format's
// description, safetensors; splits by name, arrays that do not belong together, damage.
#include "SourceTesting.h"
#include "runtime/Safetensors.h"
#include "runtime/data/Npy.h"
#include "test/unit/runtime/TemporaryFolder.h"

#include <zlib.h>

#include <filesystem>
#include <numeric>

using namespace nncc;
using namespace nncc::data;

namespace {

std::vector<float> counting(size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

void writeFloats(const std::string &path, const std::vector<int64_t> &shape, float first = 0) {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  ASSERT_TRUE(writeNpy(path, DType::F32, shape, counting(count, first).data()));
}

std::string floatsNpy(const std::vector<int64_t> &shape, float first = 0) {
  TemporaryFolder folder;
  writeFloats(folder / "x.npy", shape, first);
  return TemporaryFolder::read(folder / "x.npy");
}

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> 8 * i);
  return text;
}

std::string deflated(const std::string &contents) {
  std::string packed(contents.size() + 1000, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(contents.data()));
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A ZIP archive: local headers with their data, the central directory, its end.
std::string zipOf(const std::vector<std::pair<std::string, std::string>> &files, bool isPacked) {
  std::string archive, directory;
  for (const auto &[name, contents] : files) {
    std::string data = isPacked ? deflated(contents) : contents;
    uLong crc = crc32(0, reinterpret_cast<const Bytef *>(contents.data()),
                      static_cast<uInt>(contents.size()));
    std::string common = little(0, 2) + little(isPacked ? 8 : 0, 2) + little(0, 2) +
                         little(0x21, 2) + little(crc, 4) + little(data.size(), 4) +
                         little(contents.size(), 4) + little(name.size(), 2) + little(0, 2);
    directory += "PK\x01\x02" + little(20, 2) + little(20, 2) + common + little(0, 2) +
                 little(0, 2) + little(0, 2) + little(0, 4) + little(archive.size(), 4) + name;
    archive += "PK\x03\x04" + little(20, 2) + common + name + data;
  }
  return archive + directory + "PK\x05\x06" + little(0, 4) + little(files.size(), 2) +
         little(files.size(), 2) + little(directory.size(), 4) + little(archive.size(), 4) +
         little(0, 2);
}

std::string namesOf(const DataSource &source) {
  std::string text;
  for (const Field &field : source.fields())
    text += (text.empty() ? "" : ", ") + describe(field);
  return text;
}

} // namespace

TEST(NpyData, FilesAreFields) {
  TemporaryFolder folder;
  writeFloats(folder / "a.npy", {4, 2, 3});
  std::vector<int64_t> labels = {7, 8, 9, 10};
  ASSERT_TRUE(writeNpy(folder / "b.npy", DType::I64, std::vector<int64_t>{4}, labels.data()));
  for (const std::string &spec :
       {"npy:image=" + (folder / "a.npy") + ",label=" + (folder / "b.npy"),
        (folder / "a.npy") + "," + (folder / "b.npy"), folder / "", "npy:" + (folder / "")}) {
    auto source = openData(spec, Split::Train);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->sampleCount(), 4);
    EXPECT_EQ(namesOf(**source), spec.find("image=") != std::string::npos
                                     ? "image: f32[2, 3], label: i64[]"
                                     : "a: f32[2, 3], b: i64[]");
    EXPECT_EQ(readField<float>(**source, 2, 0), counting(6, 12));
    EXPECT_EQ(readField<int64_t>(**source, 3, 1)[0], 10);
  }
}

TEST(NpyData, FortranOrderIsTurned) {
  TemporaryFolder folder;
  // The columns of [[1, 2, 3], [4, 5, 6]], one after the other.
  std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
  std::string file = "\x93NUMPY\x01" + little(0, 1) + little(header.size(), 2) + header +
                     bytesOf({1, 4, 2, 5, 3, 6});
  auto source = openData(folder.write("x.npy", file), Split::Train);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(readField<uint8_t>(**source, 1, 0), (std::vector<uint8_t>{4, 5, 6}));
}

TEST(NpyData, NamesPickTheSplit) {
  TemporaryFolder folder;
  writeFloats(folder / "x_train.npy", {4, 1}, 100);
  writeFloats(folder / "x_test.npy", {2, 1}, 200);
  writeFloats(folder / "notes.npy", {9});
  auto train = openData(folder / "", Split::Train), test = openData(folder / "", Split::Test);
  ASSERT_TRUE(train && test);
  EXPECT_EQ(namesOf(**train), "x: f32[1]");
  EXPECT_EQ(readField<float>(**train, 0, 0)[0], 100);
  EXPECT_EQ((*test)->sampleCount(), 2);
}

TEST(NpyData, RefusesWhatDoesNotBelongTogether) {
  TemporaryFolder folder;
  writeFloats(folder / "a.npy", {4, 2});
  writeFloats(folder / "b.npy", {3});
  writeFloats(folder / "c.npy", {});
  writeFloats(folder / "d.npy", {0, 3});
  EXPECT_CONTAINS(openError(folder / ""), "'b' in '" + (folder / "b.npy") +
                                              "' has 3 samples (f32[3]), but 'a' in '" +
                                              (folder / "a.npy") + "' has 4 (f32[4, 2])");
  EXPECT_CONTAINS(openError(folder / "c.npy"), "the number of samples, found f32[]");
  EXPECT_CONTAINS(openError(folder / "d.npy"), "at least one sample, found none");
  EXPECT_CONTAINS(openError("npy:x=" + (folder / "a.npy") + ",x=" + (folder / "a.npy")),
                  "two arrays would be the field 'x'");
  std::string whole = TemporaryFolder::read(folder / "a.npy");
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_NE(openError("npy:" + folder.write("e.npy", whole.substr(0, i))), "no error") << i;
}

TEST(Npz, ArraysAreFields) {
  TemporaryFolder folder;
  for (bool isPacked : {false, true}) {
    std::string path = folder.write("x.npz", zipOf({{"x_train.npy", floatsNpy({3, 2})},
                                                    {"y_train.npy", floatsNpy({3}, 50)},
                                                    {"x_test.npy", floatsNpy({1, 2}, 90)},
                                                    {"readme.txt", "hello"}},
                                                   isPacked));
    auto train = openData(path, Split::Train), test = openData("npz:" + path, Split::Test);
    ASSERT_TRUE(train) << train.error().message;
    ASSERT_TRUE(test) << test.error().message;
    EXPECT_EQ(namesOf(**train), "x: f32[2], y: f32[]");
    EXPECT_EQ(readField<float>(**train, 2, 0), (std::vector<float>{4, 5}));
    EXPECT_EQ(readField<float>(**train, 2, 1), std::vector<float>{52});
    EXPECT_EQ(readField<float>(**test, 0, 0), (std::vector<float>{90, 91}));
  }
}

TEST(Npz, RefusesDamage) {
  TemporaryFolder folder;
  std::string whole = zipOf({{"x.npy", floatsNpy({40, 20})}}, true);
  for (size_t i = 1; i < whole.size(); i += 7)
    EXPECT_NE(openError("npz:" + folder.write("x.npz", whole.substr(0, i))), "no error") << i;
  std::string damaged = whole;
  damaged[200] ^= 1;
  EXPECT_CONTAINS(openError("npz:" + folder.write("x.npz", damaged)), "cannot be read as .npz");
  EXPECT_CONTAINS(openError(folder.write("x.npz", zipOf({{"x.npy", "hello"}}, false))),
                  "x.npy in '" + (folder / "x.npz") + "' cannot be read as .npy");
  EXPECT_CONTAINS(openError(folder.write("x.npz", zipOf({{"a.txt", "hello"}}, false))),
                  "expected arrays for training, as x_train, found nothing");
  EXPECT_CONTAINS(openError("npz:" + folder.write("x.npz", "hello")), "cannot be read as .npz");
}

TEST(SafetensorsData, TensorsAreFields) {
  TemporaryFolder folder;
  std::vector<float> images = counting(12);
  std::vector<uint8_t> labels = {5, 6, 7};
  std::string path = folder / "x.safetensors";
  ASSERT_TRUE(
      rt::writeSafetensors(path,
                           std::vector<rt::SafetensorsSource>{
                               {"image", DType::F32, {3, 4}, std::as_bytes(std::span(images))},
                               {"label", DType::U8, {3}, std::as_bytes(std::span(labels))}},
                           {}, rt::SafetensorsAlignment::EachTensor));
  auto source = openData(path, Split::Train);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(namesOf(**source), "image: f32[4], label: u8[]");
  EXPECT_EQ(readField<float>(**source, 1, 0), counting(4, 4));
  EXPECT_EQ(readField<uint8_t>(**source, 2, 1)[0], 7);
  EXPECT_EQ((*source)->locate(2, 1), "sample 2 in '" + path + "'");
  std::string whole = TemporaryFolder::read(path);
  for (size_t i = 0; i < whole.size(); i += 3)
    EXPECT_NE(openError("safetensors:" + folder.write("y", whole.substr(0, i))), "no error") << i;
  std::string other = R"({"a":{"dtype":"U16","shape":[1],"data_offsets":[0,2]}})";
  EXPECT_CONTAINS(openError(folder.write("z", little(other.size(), 8) + other + "xx")),
                  "'a' in '" + (folder / "z") + "' has elements of type U16");
}
