// A model.so from outside: one exported symbol, system libraries only, dlopen and dlclose in a
// loop, the C++ wrapper, a C program. NNCC_TEST_MODEL is the test model linked as model.so files
// are.
#include "nncc/nncc.hpp"

#include "TestModel.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>

namespace {

std::string outputOf(const std::string &command) {
  std::string output;
  FILE *pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (size_t got = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), got);
  int status = pclose(pipe);
  EXPECT_EQ(status, 0) << command << "\n" << output;
  return output;
}

int threadCount() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("Threads:"))
      return std::stoi(line.substr(8));
  return -1;
}

const std::vector<float> kImage = {1, 2, 3, 4, -1, -2, -3, -4};
const std::vector<int64_t> kIndex = {0, 2};

void expectRight(nncc::Instance &instance) {
  std::vector<nncc::Tensor> results = instance.run(
      {nncc::Tensor::borrow(kImage.data(), {2, 4}), nncc::Tensor::borrow(kIndex.data(), {2})});
  ASSERT_EQ(results.size(), 2u);
  std::span<const float> logits = results[0].values<float>();
  ASSERT_EQ(logits.size(), 6u);
  for (size_t n = 0; n < 2; ++n)
    for (size_t o = 0; o < 3; ++o)
      EXPECT_EQ(logits[n * 3 + o], testmodel::expectedLogits(kImage.data() + n * 4)[o]);
}

} // namespace

TEST(SharedObject, ExportsOneSymbol) {
  EXPECT_EQ(outputOf("nm -D --defined-only " NNCC_TEST_MODEL " | awk '{print $3}'"),
            "nncc_model_get_api\n");
}

TEST(SharedObject, HasNeitherThreadLocalDataNorDestructorsOfItsOwn) {
  std::string symbols = outputOf("nm " NNCC_RT_ARCHIVE " " NNCC_RT_CUDA_ARCHIVE);
  EXPECT_EQ(symbols.find("__cxa_thread_atexit"), std::string::npos);
  EXPECT_EQ(symbols.find("__cxa_atexit"), std::string::npos);
  EXPECT_EQ(symbols.find("__tls_get_addr"), std::string::npos);
  EXPECT_NE(symbols.find("makeApi"), std::string::npos);
  EXPECT_NE(symbols.find("nncc_cuda_backend"), std::string::npos);
}

TEST(SharedObject, NeedsSystemLibrariesOnly) {
  std::string libraries = outputOf("ldd " NNCC_TEST_MODEL);
  for (const char *foreign : {"LLVM", "MLIR", "libz", "not found"})
    EXPECT_EQ(libraries.find(foreign), std::string::npos) << libraries;
}

TEST(SharedObject, SurvivesOpeningAndClosing) {
  int before = threadCount();
  for (int i = 0; i < 50; ++i) {
    nncc::Model model = nncc::Model::load(NNCC_TEST_MODEL, {.threads = 2});
    nncc::Instance instance = model.createInstance();
    expectRight(instance);
  }
  EXPECT_EQ(threadCount(), before);
  EXPECT_EQ(dlopen(NNCC_TEST_MODEL, RTLD_NOW | RTLD_NOLOAD), nullptr)
      << "the library is still in memory";
}

TEST(SharedObject, ResultsAndInstancesKeepTheLibrary) {
  std::unique_ptr<nncc::Tensor> result;
  {
    nncc::Instance instance = nncc::Model::load(NNCC_TEST_MODEL).createInstance(1);
    expectRight(instance);
    result = std::make_unique<nncc::Tensor>(
        std::move(instance.run({nncc::Tensor::borrow(kImage.data(), {2, 4}),
                                nncc::Tensor::borrow(kIndex.data(), {2})})[0]));
  }
  EXPECT_EQ(result->values<float>()[0], testmodel::expectedLogits(kImage.data())[0]);
  EXPECT_THROW(result->values<double>(), nncc::Exception);
}

TEST(SharedObject, TheWrapperThrowsWithKindAndText) {
  nncc::Model model = nncc::Model::load(NNCC_TEST_MODEL);
  EXPECT_STREQ(model.info().name, "Small");
  nncc::Instance instance = model.createInstance();
  try {
    instance.run(
        {nncc::Tensor::borrow(kImage.data(), {4, 2}), nncc::Tensor::borrow(kIndex.data(), {2})});
    FAIL();
  } catch (const nncc::Exception &error) {
    EXPECT_EQ(error.kind(), nncc::Exception::Kind::User);
    EXPECT_NE(std::string(error.what()).find("dim 1 must be 4"), std::string::npos);
  }
  EXPECT_THROW(nncc::Model::load("no-such-model.so"), nncc::Exception);
  EXPECT_THROW(nncc::Model::load("libm.so.6"), nncc::Exception);
  EXPECT_THROW(nncc::Model::load(NNCC_TEST_MODEL, {.weights = "/no/such/file"}), nncc::Exception);
  std::vector<nncc::Tensor> inputs;
  inputs.push_back(nncc::Tensor::borrow(kImage.data(), {2, 4}));
  inputs.push_back(nncc::Tensor::borrow(kIndex.data(), {2}));
  EXPECT_EQ(instance.run(inputs, {.outputDevice = kDLCPU})[0].device().device_type, kDLCPU);
  EXPECT_THROW(instance.run(inputs, {.outputDevice = kDLCUDA}), nncc::Exception);
  nncc::Tensor elsewhere =
      nncc::Tensor::borrow(nullptr, inputs[0].type(), {0}, DLDevice{kDLCUDA, 0});
  EXPECT_THROW(elsewhere.values<float>(), nncc::Exception);
  int64_t dims[] = {5};
  EXPECT_EQ(instance.plan(dims).arena_bytes, 64);
}

TEST(SharedObject, RefusesVersionsItDoesNotKnow) {
  void *library = dlopen(NNCC_TEST_MODEL, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  auto *getApi =
      reinterpret_cast<nncc_model_get_api_fn *>(dlsym(library, NNCC_MODEL_GET_API_SYMBOL));
  EXPECT_EQ(getApi(0), nullptr);
  EXPECT_EQ(getApi(NNCC_ABI_VERSION + 1), nullptr);
  EXPECT_NE(getApi(NNCC_ABI_VERSION), nullptr);
  dlclose(library);
}

TEST(SharedObject, ACProgramRunsIt) {
  EXPECT_EQ(outputOf(NNCC_TEST_C_PROGRAM " " NNCC_TEST_MODEL), "Small 2.000 0.000 0.000\n");
}
