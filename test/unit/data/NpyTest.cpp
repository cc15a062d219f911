// Npy: files laid out by hand after NumPy's format description, every version and both orders;
// damaged files.
#include "runtime/data/Npy.h"

#include "test/unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace nncc;
using namespace nncc::rt;
using namespace nncc::data;

namespace {

std::string npy(int version, const std::string &header, const std::string &data) {
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(version), 0, static_cast<char>(header.size()), 0};
  if (version > 1)
    file += {0, 0};
  return file + header + data;
}

Result<HostTensor> parse(const std::string &file) {
  return parseNpy({reinterpret_cast<const std::byte *>(file.data()), file.size()}, "x.npy");
}

std::string errorOf(const std::string &file) {
  Result<HostTensor> result = parse(file);
  return result ? "no error" : result.error().message;
}

template <typename T> std::vector<T> valuesOf(const HostTensor &tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

template <typename T> std::string rawBytes(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

} // namespace

TEST(Npy, ReadsEachVersion) {
  for (int version : {1, 2, 3}) {
    Result<HostTensor> tensor =
        parse(npy(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
                  rawBytes<float>({1, 2, 3, 4, 5, 6})));
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->dtype, DType::F32);
    EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(valuesOf<float>(*tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Npy, TurnsFortranOrderIntoRowMajor) {
  // The columns of [[1, 2, 3], [4, 5, 6]], one after the other.
  Result<HostTensor> tensor =
      parse(npy(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}",
                rawBytes<int32_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(valuesOf<int32_t>(*tensor), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ReadsScalarsVectorsAndEmptyArrays) {
  Result<HostTensor> scalar = parse(
      npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", rawBytes<double>({2.5})));
  ASSERT_TRUE(scalar);
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(valuesOf<double>(*scalar)[0], 2.5);
  Result<HostTensor> vector =
      parse(npy(1, "{\"descr\":\"|u1\",\"fortran_order\":False,\"shape\":(3,)}", "abc"));
  ASSERT_TRUE(vector);
  EXPECT_EQ(vector->shape, (std::vector<int64_t>{3}));
  Result<HostTensor> empty =
      parse(npy(1, "{'descr': '<i8', 'fortran_order': True, 'shape': (0, 4)}", ""));
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->shape, (std::vector<int64_t>{0, 4}));
}

TEST(Npy, NamesTheProblem) {
  EXPECT_NE(errorOf("PK").find("does not begin as an .npy file does"), std::string::npos);
  EXPECT_NE(errorOf(npy(4, "{}", "")).find("expected version 1, 2 or 3, found 4"),
            std::string::npos);
  EXPECT_NE(errorOf(npy(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "abcd"))
                .find("found '>f4'"),
            std::string::npos);
  EXPECT_NE(errorOf(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "abcd"))
                .find("its shape needs 8 bytes of data, found 4"),
            std::string::npos);
  EXPECT_NE(
      errorOf(
          npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9000000000000000000, 9)}", ""))
          .find("more than 2^63"),
      std::string::npos);
  for (const char *header :
       {"", "{", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "{'x': 1}"})
    EXPECT_NE(errorOf(npy(1, header, "")).find("its header does not name"), std::string::npos)
        << header;
}

TEST(Npy, WritesWhatItReads) {
  TemporaryFolder folder;
  std::string path = folder / "x.npy";
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  for (std::vector<int64_t> shape : std::vector<std::vector<int64_t>>{{2, 3}, {6}, {1, 6, 1}}) {
    ASSERT_TRUE(writeNpy(path, DType::F32, shape, values.data()));
    Result<HostTensor> tensor = readNpy(path);
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->shape, shape);
    EXPECT_EQ(valuesOf<float>(*tensor), values);
  }
  // The bytes that numpy.save writes for a one-dimensional array, but for the amount of padding.
  ASSERT_TRUE(writeNpy(path, DType::F32, std::vector<int64_t>{6}, values.data()));
  std::string file = TemporaryFolder::read(path);
  EXPECT_EQ(file.find("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }"), 10u) << file;
  EXPECT_EQ((file.size() - 24) % 64, 0u);
  EXPECT_EQ(file[file.size() - 25], '\n');
}

TEST(Npy, HoldsBfloat16AsMlDtypesDo) {
  std::string data = rawBytes<uint16_t>({0x3F80, 0xC049});
  for (const char *descr : {"<V2", "|V2"}) {
    Result<HostTensor> tensor = parse(npy(
        1, "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (2,)}", data));
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->dtype, DType::BF16);
    EXPECT_EQ(valuesOf<uint16_t>(*tensor), (std::vector<uint16_t>{0x3F80, 0xC049}));
  }
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpy(folder / "x.npy", DType::BF16, std::vector<int64_t>{2}, data.data()));
  std::string file = TemporaryFolder::read(folder / "x.npy");
  EXPECT_EQ(file.find("{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }"), 10u) << file;
  EXPECT_EQ(file.substr(file.size() - 4), data);
}

TEST(Npy, SurvivesDamage) {
  std::string valid =
      npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", std::string(24, 'x'));
  std::mt19937 random(29);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string file = valid;
    for (int k = 0; k < 1 + i % 3; ++k)
      file[random() % file.size()] =
          static_cast<char>(random() % 2 ? random() : "0123456789(),'"[random() % 14]);
    refused += !parse(file.substr(0, random() % 4 ? file.size() : random() % file.size()));
  }
  EXPECT_GT(refused, 1000);
}
