// Every call of the driver that the runtime makes, failed at its first and its second time with
// several codes: one message that names the call and the code, nothing left on the device, and the
// next model works. Which calls these are is read from the runtime's source.
#include "runtime/Api.h"
#include "runtime/cuda/Device.h"

#include "cuda/CudaTestModel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

using namespace nncc::rt::cuda;

namespace {

/// "cuMemAlloc_v2", as runtime/cuda spells its calls.
std::set<std::string> callsOfTheRuntime() {
  std::set<std::string> calls;
  std::regex call("(?:\\.|->)(cu[A-Z][A-Za-z0-9]*(?:_v[0-9])?)\\(");
  for (const auto &entry : std::filesystem::directory_iterator(NNCC_TEST_SOURCE "/runtime/cuda")) {
    std::ifstream file(entry.path());
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (std::sregex_iterator found(text.begin(), text.end(), call), end; found != end; ++found)
      calls.insert((*found)[1]);
  }
  return calls;
}

/// Calls that give something back: what fails there is nobody's to mend, and says nothing.
const std::set<std::string> kReleases = {
    "cuMemFree_v2",       "cuMemFreeHost",      "cuModuleUnload",
    "cuStreamDestroy_v2", "cuEventDestroy_v2",  "cuGraphExecDestroy",
    "cuGraphDestroy",     "cuCtxPopCurrent_v2", "cuDevicePrimaryCtxRelease_v2"};
/// Calls that this test's model does not lead to: for --list-devices, after other failures, and of
/// a workspace of the caller's.
const std::set<std::string> kElsewhere = {"cuDeviceGetName", "cuDeviceTotalMem_v2",
                                          "cuGetErrorName",  "cuGetErrorString",
                                          "cuMemGetInfo_v2", "cuPointerGetAttribute"};

struct Outcome {
  nncc_status status = NNCC_OK;
  std::string message;
};

/// A life of a model: loading, runs that launch, capture and replay, tensors of the device that are
/// not aligned, the caller's stream, a profile, results on the device, the end. Up to the first
/// failure.
class Life {
public:
  Life(const nncc_api &api, CUstream stream, CUdeviceptr memory)
      : api(api), stream(stream), memory(memory) {}

  Outcome run() {
    nncc_model_options options{};
    options.size = sizeof(options);
    options.device = "cuda";
    nncc_model *model = nullptr;
    Outcome outcome = {api.create_model(&api, &options, &model), ""};
    if (outcome.status != NNCC_OK) {
      outcome.message = api.model_error(model);
    } else {
      nncc_instance *instance = nullptr;
      outcome.status = api.create_instance(model, nullptr, &instance);
      if (outcome.status == NNCC_OK)
        outcome.status = runInstance(instance);
      if (outcome.status != NNCC_OK)
        outcome.message = api.instance_error(instance);
      api.destroy_instance(instance);
    }
    api.destroy_model(model);
    return outcome;
  }

private:
  nncc_status runInstance(nncc_instance *instance) {
    constexpr int64_t n = 2;
    float image[n * 4] = {1, 2, 3, 4, 5, 6, 7, 8}, logits[n * 3], picked[n];
    int64_t index[n] = {0, 1}, imageShape[] = {n, 4}, rowShape[] = {n}, logitsShape[] = {n, 3};
    constexpr DLDataType kF32 = {kDLFloat, 32, 1}, kI64 = {kDLInt, 64, 1};
    DLTensor inputs[] = {{image, {kDLCPU, 0}, 2, kF32, imageShape, nullptr, 0},
                         {index, {kDLCPU, 0}, 1, kI64, rowShape, nullptr, 0}};
    DLTensor outputs[] = {{logits, {kDLCPU, 0}, 2, kF32, logitsShape, nullptr, 0},
                          {picked, {kDLCPU, 0}, 1, kF32, rowShape, nullptr, 0}};
    nncc_run_options options{};
    options.size = sizeof(options);
    options.stream = stream;
    for (int i = 0; i < 3; ++i)
      if (nncc_status status = api.run(instance, inputs, 2, outputs, 2, &options))
        return status;
    DLTensor onDevice[] = {
        {reinterpret_cast<void *>(memory + 4), {kDLCUDA, 0}, 2, kF32, imageShape, nullptr, 0},
        inputs[1]};
    for (int i = 0; i < 2; ++i) {
      DLManagedTensorVersioned *results[2];
      if (nncc_status status = api.run_allocate(instance, onDevice, 2, results, 2, &options))
        return status;
      for (DLManagedTensorVersioned *result : results)
        result->deleter(result);
    }
    if (nncc_status status = api.set_profiling(instance, 1))
      return status;
    return api.run(instance, inputs, 2, outputs, 2, &options);
  }

  const nncc_api &api;
  CUstream stream;
  CUdeviceptr memory;
};

class DriverFailure : public testing::Test {
protected:
  DriverFailure() : descriptor(source.descriptor()), api(nncc::rt::makeApi(descriptor)) {
    setenv("CUDA_EMULATOR_OPTIMISATION", "1", 0);
  }

  void SetUp() override {
    if (std::string missing = testmodel::prepareStandIn(); !missing.empty())
      GTEST_SKIP() << missing;
    auto opened = Device::open(0);
    ASSERT_TRUE(opened) << opened.error().message;
    device = *opened;
    auto entered = device->enter();
    ASSERT_TRUE(entered) << entered.error().message;
    scope.emplace(std::move(*entered));
    ASSERT_EQ(device->driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(device->driver().cuMemAlloc_v2(&memory, 64), CUDA_SUCCESS);
    ASSERT_EQ(device->driver().cuMemsetD8_v2(memory, 0, 64), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (!device)
      return;
    device->driver().cuMemFree_v2(memory);
    device->driver().cuStreamDestroy_v2(stream);
  }

  Outcome live(const std::string &rule = "") {
    setenv("CUDA_EMULATOR_FAIL", rule.c_str(), 1);
    Outcome outcome = Life(api, stream, memory).run();
    unsetenv("CUDA_EMULATOR_FAIL");
    return outcome;
  }
  size_t freeBytes() const {
    size_t available = 0, total = 0;
    EXPECT_EQ(device->driver().cuMemGetInfo_v2(&available, &total), CUDA_SUCCESS);
    return available;
  }

  testmodel::CudaModel source;
  nncc::rt::ModelDescriptor descriptor;
  nncc_api api;
  std::shared_ptr<const Device> device;
  std::optional<Device::Scope> scope;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
};

/// The name without the version that the driver's headers hide.
std::string publicName(const std::string &call) { return call.substr(0, call.find("_v")); }

} // namespace

TEST_F(DriverFailure, IsOneMessageAndLeavesNothing) {
  ASSERT_EQ(live().status, NNCC_OK);
  size_t before = freeBytes();
  std::set<std::string> calls = callsOfTheRuntime();
  ASSERT_GT(calls.size(), 35u);
  constexpr CUresult kCodes[] = {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY,
                                 CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_UNKNOWN};
  for (const std::string &call : calls) {
    bool isRelease = kReleases.count(call), isElsewhere = kElsewhere.count(call);
    for (int time : {1, 2})
      for (CUresult code : kCodes) {
        SCOPED_TRACE(call + ":" + std::to_string(time) + ":" + std::to_string(code));
        Outcome outcome = live(call + ":" + std::to_string(time) + ":" + std::to_string(code));
        if (isRelease || isElsewhere) {
          EXPECT_EQ(outcome.status, NNCC_OK) << outcome.message;
        } else if (outcome.status != NNCC_OK || time == 1) {
          EXPECT_EQ(outcome.status, NNCC_ENVIRONMENT_ERROR) << outcome.message;
          std::string told = publicName(call) + " returned " + device->driver().describe(code);
          if (call == "cuGraphInstantiateWithFlags")
            told = told.replace(0, call.size(), "cuGraphInstantiate");
          size_t first = outcome.message.find(" returned ");
          EXPECT_NE(outcome.message.find(told), std::string::npos) << outcome.message;
          EXPECT_EQ(outcome.message.find(" returned ", first + 1), std::string::npos)
              << outcome.message;
        }
        // What a call that gives back does not give back, and all that a broken context holds, is
        // lost.
        if (!isRelease && code != CUDA_ERROR_LAUNCH_FAILED)
          EXPECT_EQ(freeBytes(), before);
        before = freeBytes();
      }
  }
  Outcome after = live();
  EXPECT_EQ(after.status, NNCC_OK) << after.message;
}
