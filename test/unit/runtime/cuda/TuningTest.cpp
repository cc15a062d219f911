// Kernels done by a library: tuned, written to a file, used as the file says, in graphs too; and
// every way in which that can fail. On the stand-in driver, with the stand-in for cuBLASLt
// (test/fake-libraries).
#include "runtime/Api.h"
#include "runtime/cuda/Tuner.h"
#include "runtime/cuda/TuningFile.h"

#include "TemporaryFolder.h"
#include "cuda/CudaTestModel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

using namespace nncc::rt::cuda;
using nncc::DType;

namespace {

constexpr const char *kAlgorithm = "fa4e 1 0 0 0 0 0 0"; ///< of the stand-in, with a workspace

/// An environment variable while this lives.
struct Setting {
  Setting(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { unsetenv(name); }
  const char *name;
};

class Tuning : public testing::Test {
protected:
  explicit Tuning(bool hasTiles = false)
      : source(testmodel::parameterImage(), hasTiles), descriptor(source.descriptor()), api(nncc::rt::makeApi(descriptor)) {}

  void SetUp() override {
    if (std::string missing = testmodel::prepareStandIn(); !missing.empty())
      GTEST_SKIP() << missing;
  }
  void TearDown() override { unload(); }

  void unload() {
    if (instance)
      api.destroy_instance(instance);
    if (model)
      api.destroy_model(model);
    instance = nullptr;
    model = nullptr;
  }

  /// Of creating the model and an instance.
  nncc_status load(const char *tuning = nullptr, bool required = false) {
    unload();
    nncc_model_options options{};
    options.size = sizeof(options);
    options.device = "cuda";
    options.tuning = tuning;
    options.tuning_required = required;
    options.log = [](void *context, const char *text) {
      *static_cast<std::string *>(context) += std::string("\n") + text;
    };
    options.log_context = &log;
    log.clear();
    nncc_status status = api.create_model(&api, &options, &model);
    error = status ? api.model_error(model) : "";
    if (!status)
      status = api.create_instance(model, nullptr, &instance);
    return status;
  }

  /// A run or a tuning run for N = n; results are checked against the plain loop when it is done.
  nncc_status run(int64_t n, const char *tune = nullptr, float shift = 0, float factor = 1) {
    std::vector<float> image(static_cast<size_t>(n * 4)), logits(static_cast<size_t>(n * 3), -7),
        picked(static_cast<size_t>(n));
    std::vector<int64_t> index(static_cast<size_t>(n), 1);
    for (size_t i = 0; i < image.size(); ++i)
      image[i] = static_cast<float>(i * 37 % 19) - 9 + shift;
    int64_t imageShape[] = {n, 4}, rowShape[] = {n}, logitsShape[] = {n, 3};
    constexpr DLDataType kF32 = {kDLFloat, 32, 1}, kI64 = {kDLInt, 64, 1};
    DLTensor inputs[] = {{image.data(), {kDLCPU, 0}, 2, kF32, imageShape, nullptr, 0},
                         {index.data(), {kDLCPU, 0}, 1, kI64, rowShape, nullptr, 0}};
    DLTensor outputs[] = {{logits.data(), {kDLCPU, 0}, 2, kF32, logitsShape, nullptr, 0},
                          {picked.data(), {kDLCPU, 0}, 1, kF32, rowShape, nullptr, 0}};
    nncc_status status = tune ? api.tune(instance, inputs, 2, outputs, 2, tune)
                              : api.run(instance, inputs, 2, outputs, 2, nullptr);
    error = status ? api.instance_error(instance) : "";
    for (size_t row = 0; !status && row < index.size(); ++row) {
      std::vector<float> expected = testmodel::expectedLogits(&image[row * 4]);
      for (size_t column = 0; column < 3; ++column)
        EXPECT_EQ(logits[row * 3 + column], factor * expected[column]) << "row " << row;
    }
    return status;
  }

  /// A file that was tuned at N = 5 and asks for the library, or for what `change` makes of it.
  std::string choose(const std::function<void(TunedDevice &)> &change = {}) {
    std::string path = folder / "t.json";
    std::filesystem::remove(path);
    EXPECT_EQ(load(), NNCC_OK) << error;
    EXPECT_EQ(run(5, path.c_str()), NNCC_OK) << error;
    auto file = TuningFile::load(path);
    EXPECT_TRUE(file && *file);
    TunedDevice &device = (*file)->devices.at(0);
    EXPECT_EQ(device.kernels.size(), 1u);
    device.kernels.at(0).use = "cublasLt";
    device.kernels.at(0).algorithm = kAlgorithm;
    if (change)
      change(device);
    return folder.write("t.json", (*file)->write());
  }
  void expectError(const std::string &expected) {
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }

  testmodel::CudaModel source;
  nncc::rt::ModelDescriptor descriptor;
  nncc_api api;
  TemporaryFolder folder;
  Setting library{"NNCC_CUBLASLT", NNCC_TEST_CUBLASLT};
  Setting convolutions{"NNCC_CUDNN", NNCC_TEST_CUDNN};
  nncc_model *model = nullptr;
  nncc_instance *instance = nullptr;
  std::string error, log;
};

class Tiles : public Tuning {
protected:
  Tiles() : Tuning(/*hasTiles=*/true) {}

  /// A file that was tuned at N = 5 and asks for this tile.
  std::string chooseTile(const std::string &tile) {
    return choose([&](TunedDevice &device) {
      device.kernels.at(0).use = "nncc";
      device.kernels.at(0).algorithm = tile;
    });
  }
};

/// A library's kernel does the work: without the library's function there is no result.
constexpr const char *kMatmulFails = "cublasLtMatmul:*:13";

} // namespace

TEST_F(Tuning, MeasuresBothAndWritesAFile) {
  std::string path = folder / "t.json";
  ASSERT_EQ(load(), NNCC_OK) << error;
  ASSERT_EQ(run(5, path.c_str()), NNCC_OK) << error;
  ASSERT_EQ(run(6, path.c_str()), NNCC_OK) << error;
  ASSERT_EQ(run(5, path.c_str()), NNCC_OK) << error;
  auto file = TuningFile::load(path);
  ASSERT_TRUE(file && *file) << file.error().message;
  const TunedDevice *device = (*file)->find("CUDA emulator 8.0", "sm_80");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->libraries.at("cublasLt"), "13.1.2");
  ASSERT_EQ(device->kernels.size(), 2u) << "one for each N";
  for (const TunedKernel &kernel : device->kernels) {
    EXPECT_EQ(kernel.name, "linear");
    EXPECT_GT(kernel.microseconds.at("nncc"), 0);
    EXPECT_GT(kernel.microseconds.at("cublasLt"), 0);
    EXPECT_TRUE(kernel.notes.empty());
  }
  EXPECT_EQ(folder.fileCount(), 1u);
}

TEST_F(Tuning, TheFileDecidesWhoDoesAKernel) {
  std::string path = choose();
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  EXPECT_EQ(log.find("warning"), std::string::npos) << log;
  EXPECT_EQ(run(5), NNCC_OK) << error;
  Setting failing("NNCC_FAKE_FAIL", kMatmulFails);
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  EXPECT_EQ(run(5), NNCC_ENVIRONMENT_ERROR);
  EXPECT_EQ(
      error,
      "small.nn:3:7: kernel 'linear': cuBLASLt: a matrix product failed: cublasLtMatmul returned "
      "CUBLAS_STATUS_EXECUTION_FAILED");
  // Our own kernels do what is not in the file.
  ASSERT_EQ(load(path.c_str()), NNCC_OK) << error;
  EXPECT_EQ(run(4), NNCC_OK) << error;
  ASSERT_EQ(load(), NNCC_OK) << error;
  EXPECT_EQ(run(5), NNCC_OK) << error;
}

TEST_F(Tuning, ALibraryIsPartOfAGraph) {
  std::string path = choose();
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  for (float shift : {0, 1, 2, 3})
    ASSERT_EQ(run(5, nullptr, shift), NNCC_OK) << error;
  // Replayed: the library is asked no more.
  Setting failing("NNCC_FAKE_FAIL", kMatmulFails);
  Setting launches("CUDA_EMULATOR_FAIL", "cuLaunchKernel:*:999");
  EXPECT_EQ(run(5, nullptr, 4), NNCC_OK) << error;
}

TEST_F(Tuning, AFailureWhileCapturingIsOneErrorAndTheNextRunWorks) {
  std::string path = choose();
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  ASSERT_EQ(run(5), NNCC_OK) << error;
  {
    Setting failing("NNCC_FAKE_FAIL", kMatmulFails);
    EXPECT_EQ(run(5), NNCC_ENVIRONMENT_ERROR);
    expectError("cublasLtMatmul returned CUBLAS_STATUS_EXECUTION_FAILED");
  }
  EXPECT_EQ(run(5), NNCC_OK) << error;
}

TEST_F(Tuning, EveryCallThatFailsIsOneError) {
  std::string path = choose();
  for (const char *call :
       {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatmulAlgoCheck", "cublasLtMatmul"}) {
    Setting failing("NNCC_FAKE_FAIL", std::string(call) + ":*:7");
    ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
    nncc_status status = run(5);
    EXPECT_NE(status, NNCC_OK) << call;
    bool isCheck = std::string(call) ==
                   "cublasLtMatmulAlgoCheck"; // the file asks for what the library refuses
    EXPECT_EQ(status, isCheck ? NNCC_USER_ERROR : NNCC_ENVIRONMENT_ERROR);
    expectError("kernel 'linear'");
    expectError("CUBLAS_STATUS_INVALID_VALUE");
    if (!isCheck)
      expectError(std::string(call) + " returned");
  }
}

TEST_F(Tuning, WhatFailsWhileTuningIsLeftOutWithANote) {
  for (const char *call : {"cublasLtCreate", "cublasLtMatmulDescCreate",
                           "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
                           "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
    std::string path = folder / (std::string(call) + ".json");
    Setting failing("NNCC_FAKE_FAIL", std::string(call) + ":*:7");
    ASSERT_EQ(load(), NNCC_OK) << error;
    ASSERT_EQ(run(5, path.c_str()), NNCC_OK) << error;
    auto file = TuningFile::load(path);
    ASSERT_TRUE(file && *file);
    const TunedKernel &kernel = (*file)->devices.at(0).kernels.at(0);
    EXPECT_EQ(kernel.use, "nncc");
    ASSERT_FALSE(kernel.notes.empty()) << call;
    EXPECT_EQ(kernel.notes[0].find("cublasLt"), 0u) << kernel.notes[0];
    EXPECT_FALSE(kernel.microseconds.contains("cublasLt"));
  }
}

TEST_F(Tuning, AWrongResultIsNeverChosen) {
  Setting wrong("NNCC_FAKE_WRONG", "1");
  std::string path = folder / "t.json";
  ASSERT_EQ(load(), NNCC_OK) << error;
  ASSERT_EQ(run(5, path.c_str()), NNCC_OK) << error;
  auto file = TuningFile::load(path);
  ASSERT_TRUE(file && *file);
  const TunedKernel &kernel = (*file)->devices.at(0).kernels.at(0);
  EXPECT_EQ(kernel.use, "nncc");
  ASSERT_EQ(kernel.notes.size(), 2u) << "one for each algorithm";
  EXPECT_NE(kernel.notes[0].find("its result differs from nncc's by 1.0"), std::string::npos)
      << kernel.notes[0];
}

TEST_F(Tuning, AMissingLibraryMattersOnlyWhereItIsAskedFor) {
  std::string path = choose();
  Setting missing("NNCC_CUBLASLT", "/no/such/libcublasLt.so");
  EXPECT_EQ(load(), NNCC_OK) << error;
  EXPECT_EQ(run(5), NNCC_OK) << error;
  EXPECT_EQ(load(path.c_str(), true), NNCC_ENVIRONMENT_ERROR);
  expectError("asks for cublasLt for the kernel 'linear': cuBLASLt, NVIDIA's library of matrix "
              "products, cannot be loaded");
  expectError("/no/such/libcublasLt.so");
  expectError("NNCC_CUBLASLT");
  EXPECT_EQ(load(path.c_str()), NNCC_OK) << error;
  EXPECT_NE(log.find("\nwarning: the tuning file"), std::string::npos) << log;
  EXPECT_EQ(run(5), NNCC_OK) << error;
  std::string tuned = folder / "without.json";
  EXPECT_EQ(run(5, tuned.c_str()), NNCC_OK) << error;
  auto file = TuningFile::load(tuned);
  ASSERT_TRUE(file && *file);
  EXPECT_NE((*file)->devices.at(0).kernels.at(0).notes.at(0).find("cannot be loaded"),
            std::string::npos);
  setenv("NNCC_CUBLASLT", NNCC_TEST_CUBLASLT, 1);
}

TEST_F(Tuning, ARequiredFileHasToFit) {
  std::string path = choose([](TunedDevice &device) { device.name = "NVIDIA H200"; });
  EXPECT_EQ(load(path.c_str(), true), NNCC_ENVIRONMENT_ERROR);
  expectError("is not for this device, CUDA emulator 8.0 (sm_80); it is for NVIDIA H200 (sm_80)");
  EXPECT_EQ(load(path.c_str()), NNCC_OK) << error;
  EXPECT_NE(log.find("\nwarning: the tuning file"), std::string::npos) << log;
  EXPECT_EQ(run(5), NNCC_OK) << error;

  path = choose([](TunedDevice &device) { device.libraries["cublasLt"] = "12.4.1"; });
  EXPECT_EQ(load(path.c_str(), true), NNCC_ENVIRONMENT_ERROR);
  expectError("was made with cublasLt 12.4.1, found 13.1.2");

  path = choose([](TunedDevice &device) { device.kernels[0].identity = "0"; });
  EXPECT_EQ(load(path.c_str(), true), NNCC_USER_ERROR);
  expectError("does not know small.nn:3:7: kernel 'linear'; the model was changed, or compiled by "
              "another nncc");

  path = choose([](TunedDevice &device) { device.kernels[0].algorithm = "fa4e 9 0 0 0 0 0 0"; });
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  EXPECT_EQ(run(5), NNCC_USER_ERROR);
  expectError("cuBLASLt cannot compute this product with the algorithm fa4e 9 0 0 0 0 0 0 "
              "(CUBLAS_STATUS_NOT_SUPPORTED)");
  path = choose([](TunedDevice &device) { device.kernels[0].algorithm = "first"; });
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  EXPECT_EQ(run(5), NNCC_USER_ERROR);
  expectError("expected an algorithm of cuBLASLt, eight hexadecimal numbers, found \"first\"");
  path = choose([](TunedDevice &device) {
    device.kernels[0].use = "cudnn";
    device.libraries["cudnn"] = "9.12.3";
  });
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  EXPECT_EQ(run(5), NNCC_USER_ERROR);
  expectError("kernel 'linear': the tuning file asks for cudnn, which has no function for it");

  path = choose();
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  EXPECT_EQ(run(4), NNCC_USER_ERROR);
  expectError("does not know small.nn:3:7: kernel 'linear' at N = 4. Tune for it");
  EXPECT_EQ(load(nullptr, true), NNCC_USER_ERROR);
  expectError("a tuning file is required, but none is named");
  EXPECT_EQ(load("/no/such.json"), NNCC_USER_ERROR);
  expectError("there is no tuning file /no/such.json; nncc-run --device=cuda --tune=/no/such.json "
              "makes it");
  std::string damaged = folder.write("damaged.json", "{\"format\"");
  EXPECT_EQ(load(damaged.c_str()), NNCC_USER_ERROR);
  expectError("is damaged: parse error at line 1");
  EXPECT_EQ(load(), NNCC_OK) << error;
  EXPECT_EQ(run(5, damaged.c_str()), NNCC_USER_ERROR) << "a damaged file is not written over";
  expectError("is damaged");
  EXPECT_EQ(TemporaryFolder::read(damaged), "{\"format\"");
}

TEST_F(Tuning, AModelBringsAFileAlong) {
  std::string text = TemporaryFolder::read(choose());
  nncc::rt::ModelCuda cuda = *descriptor.cuda;
  cuda.tuning = text.data();
  cuda.tuningBytes = text.size();
  unload();
  descriptor.cuda = &cuda;
  ASSERT_EQ(load(nullptr, true), NNCC_OK) << error;
  EXPECT_EQ(run(5), NNCC_OK) << error;
  Setting failing("NNCC_FAKE_FAIL", kMatmulFails);
  ASSERT_EQ(load(nullptr, true), NNCC_OK) << error;
  EXPECT_EQ(run(5), NNCC_ENVIRONMENT_ERROR) << "the library does it";
  unload();
}

TEST_F(Tuning, TheCpuHasNoLibraries) {
  nncc_model_options options{};
  options.size = sizeof(options);
  options.device = "cpu";
  ASSERT_EQ(api.create_model(&api, &options, &model), NNCC_OK);
  ASSERT_EQ(api.create_instance(model, nullptr, &instance), NNCC_OK);
  EXPECT_EQ(run(5, (folder / "t.json").c_str()), NNCC_USER_ERROR);
  EXPECT_EQ(error, "only a model on a CUDA device can be tuned; use --device=cuda");
  unload();
  options.tuning_required = 1;
  EXPECT_EQ(api.create_model(&api, &options, &model), NNCC_USER_ERROR);
}

TEST(Disagreement, IsMeasuredByTheLargestNumber) {
  auto compare = [](DType type, bool tf32, auto expected, auto found) {
    return disagreement(type, tf32, std::as_bytes(std::span(expected)),
                        std::as_bytes(std::span(found)));
  };
  using F32 = std::vector<float>;
  EXPECT_EQ(compare(DType::F32, false, F32{1, 100}, F32{1.001f, 100}), "");
  EXPECT_NE(compare(DType::F32, false, F32{1, 100}, F32{1.01f, 100}), "");
  EXPECT_EQ(compare(DType::F32, true, F32{1, 100}, F32{1.4f, 100}), "");
  EXPECT_NE(compare(DType::F32, false, F32{1, 100}, F32{NAN, 100}), "");
  EXPECT_NE(compare(DType::F32, false, F32{1, INFINITY}, F32{1, 100}), "");
  EXPECT_EQ(compare(DType::F32, false, F32{NAN, INFINITY, 2}, F32{NAN, INFINITY, 2}), "");
  EXPECT_NE(compare(DType::F32, false, F32{0, 0}, F32{0, 1e-30f}), "");
  // 1, 1.0009765625 and 1.5 in half precision; 1 and 1.5 in bf16.
  using Bits = std::vector<uint16_t>;
  EXPECT_EQ(compare(DType::F16, false, Bits{0x3c00}, Bits{0x3c01}), "");
  EXPECT_NE(compare(DType::F16, false, Bits{0x3c00}, Bits{0x3e00}), "");
  EXPECT_EQ(compare(DType::BF16, false, Bits{0x3f80}, Bits{0x3f81}), "");
  EXPECT_NE(compare(DType::BF16, false, Bits{0x3f80}, Bits{0x3fc0}), "");
  // A subnormal half beside the largest one.
  EXPECT_EQ(compare(DType::F16, false, Bits{0x0001, 0x7bff}, Bits{0x8001, 0x7bff}), "");
}

TEST_F(Tiles, AreMeasuredAndThoseThatDisagreeAreNot) {
  std::string path = folder / "t.json";
  ASSERT_EQ(load(), NNCC_OK) << error;
  ASSERT_EQ(run(5, path.c_str()), NNCC_OK) << error;
  auto file = TuningFile::load(path);
  ASSERT_TRUE(file && *file) << file.error().message;
  const TunedKernel &linear = (*file)->devices.at(0).kernels.at(0);
  for (const char *name : {"nncc", "nncc, whole", "nncc, in parts", "cublasLt"})
    EXPECT_GT(linear.microseconds.at(name), 0) << name;
  EXPECT_EQ(linear.microseconds.count("nncc, double"), 0u);
  ASSERT_EQ(linear.notes.size(), 1u);
  EXPECT_NE(linear.notes[0].find("nncc, double: its result differs"), std::string::npos) << linear.notes[0];
}

TEST_F(Tiles, DoTheWorkThatTheyWereChosenFor) {
  // Its result tells that it was this one; a third run is a graph.
  std::string path = chooseTile("double");
  ASSERT_EQ(load(path.c_str(), true), NNCC_OK) << error;
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(run(5, nullptr, static_cast<float>(i), 2), NNCC_OK) << error;
  // At other dims nothing was chosen.
  ASSERT_EQ(load(path.c_str()), NNCC_OK) << error;
  EXPECT_EQ(run(6), NNCC_OK) << error;
  for (const char *tile : {"whole", "in parts"}) {
    ASSERT_EQ(load(chooseTile(tile).c_str(), true), NNCC_OK) << error;
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(run(5, nullptr, static_cast<float>(i)), NNCC_OK) << tile << ": " << error;
  }
}

TEST_F(Tiles, ThatAreMissingAreAnErrorWhereTheFileIsRequired) {
  std::string path = chooseTile("triple");
  EXPECT_EQ(load(path.c_str(), true), NNCC_USER_ERROR);
  expectError("asks for the tile triple for");
  ASSERT_EQ(load(path.c_str()), NNCC_OK) << error;
  EXPECT_NE(log.find("asks for the tile triple"), std::string::npos) << log;
  EXPECT_EQ(run(5), NNCC_OK) << error;
}

TEST_F(Tiles, AreLoadedWhenTheyAreChosenAlone) {
  ASSERT_EQ(load(), NNCC_OK) << error;
  EXPECT_NE(log.find(": 4 kernels for"), std::string::npos) << log;
  ASSERT_EQ(load(chooseTile("in parts").c_str()), NNCC_OK) << error;
  EXPECT_NE(log.find(": 6 kernels for"), std::string::npos) << log;
}
