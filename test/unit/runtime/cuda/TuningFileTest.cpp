// Tuning files: what is written is read back, and a text that is damaged anywhere is refused with
// what is wrong and where.
#include "runtime/cuda/TuningFile.h"

#include <gtest/gtest.h>

using namespace nncc;
using namespace nncc::rt::cuda;

namespace {

TuningFile example() {
  TunedKernel linear{"00ff",     "linear", {{"N", 64}, {"T", 7}},
                     "cublasLt", "fa4e 1", {{"nncc", 12.5}, {"cublasLt", 10.25}},
                     {}};
  TunedKernel conv{"11ee",
                   "conv \"quoted\"",
                   {},
                   "nncc",
                   "",
                   {{"nncc", 3}},
                   {"cudnn, algorithm 6: its result differs"}};
  TunedKernel tiled{"22dd", "matmul", {}, "nncc", "64 x 64 x 16", {{"nncc", 3}, {"nncc, 64 x 64 x 16", 2}}, {}};
  TuningFile file;
  file.devices = {{"NVIDIA H200", "sm_90", "13.0", {{"cublasLt", "13.0.2"}}, {linear, conv, tiled}},
                  {"Other", "sm_80", "12.4", {}, {}}};
  return file;
}

void expectRefused(const std::string &text, const std::string &expected) {
  auto file = TuningFile::read(text, "t.json");
  ASSERT_FALSE(file) << text;
  EXPECT_EQ(file.error().kind, ErrorKind::User);
  EXPECT_NE(file.error().message.find(expected), std::string::npos) << file.error().message;
}

/// The example with one part of its text exchanged.
std::string replaced(const std::string &from, const std::string &to) {
  std::string text = example().write();
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

} // namespace

TEST(TuningFile, IsReadAsItWasWritten) {
  std::string text = example().write();
  auto file = TuningFile::read(text, "t.json");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->write(), text);
  ASSERT_EQ(file->devices.size(), 2u);
  const TunedDevice *device = file->find("NVIDIA H200", "sm_90");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->libraries.at("cublasLt"), "13.0.2");
  EXPECT_TRUE(device->kernels[0].isFor("00ff", {{"N", 64}, {"T", 7}}));
  EXPECT_FALSE(device->kernels[0].isFor("00ff", {{"N", 63}, {"T", 7}}));
  EXPECT_EQ(device->kernels[0].algorithm, "fa4e 1");
  EXPECT_EQ(device->kernels[0].microseconds.at("cublasLt"), 10.25);
  EXPECT_EQ(device->kernels[1].name, "conv \"quoted\"");
  EXPECT_EQ(device->kernels[1].notes.at(0), "cudnn, algorithm 6: its result differs");
  EXPECT_FALSE(device->kernels[0].isTile() || device->kernels[1].isTile());
  EXPECT_TRUE(device->kernels[2].isTile());
  EXPECT_EQ(device->kernels[2].algorithm, "64 x 64 x 16");
  EXPECT_EQ(file->find("NVIDIA H200", "sm_80"), nullptr);
}

TEST(TuningFile, CutAnywhereIsDamaged) {
  std::string text = example().write();
  text.pop_back(); // the newline at the end may be missing
  for (size_t length = 0; length < text.size(); ++length)
    expectRefused(text.substr(0, length),
                  "the tuning file t.json is damaged: parse error at line ");
}

TEST(TuningFile, NamesWhatIsWrongAndWhere) {
  expectRefused("[]", "the file: expected an object with the field \"format\"");
  expectRefused(replaced("nncc tuning", "other"),
                "format: expected \"nncc tuning\", found \"other\"");
  expectRefused(replaced("\"version\": 1", "\"version\": \"1\""),
                "version: expected a 64-bit integer, found string");
  expectRefused(replaced("\"version\": 1", "\"version\": 2"),
                "has version 2, this nncc reads version 1; tune again");
  expectRefused(replaced("\"NVIDIA H200\"", "7"),
                "devices[0].name: expected a string, found number");
  expectRefused(replaced("\"driver\": \"12.4\",", ""),
                "devices[1]: expected an object with the field \"driver\"");
  expectRefused(replaced("{\"cublasLt\":\"13.0.2\"}", "[]"),
                "devices[0].libraries: expected an object, found array");
  expectRefused(replaced("\"N\":64", "\"N\":6.5"),
                "devices[0].kernels[0].dims.N: expected a 64-bit integer, found number");
  expectRefused(replaced("\"N\":64", "\"N\":18446744073709551615"),
                "devices[0].kernels[0].dims.N: expected a 64-bit integer");
  expectRefused(
      replaced("\"use\":\"nncc\"", "\"use\":\"mkl\""),
      "devices[0].kernels[1].use: expected \"nncc\", \"cublasLt\" or \"cudnn\", found \"mkl\"");
  expectRefused(replaced("\"algorithm\":\"fa4e 1\",", ""),
                "devices[0].kernels[0]: expected an object with the field \"algorithm\"");
  expectRefused(replaced("\"nncc\":3.0", "\"nncc\":null"),
                "devices[0].kernels[1].microseconds.nncc: expected a number, found null");
  expectRefused(replaced("[\"cudnn, algorithm 6: its result differs\"]", "[1]"),
                "devices[0].kernels[1].notes[0]: expected a string, found number");
}

TEST(TuningFile, AMissingFileIsNoError) {
  auto file = TuningFile::load("/no/such/tuning.json");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->has_value());
}
