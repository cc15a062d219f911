// What a model on a CUDA device does beyond the contract of all devices (ApiTest.cpp): tensors in
// device memory, graphs, streams, growth, threads, faults. On the stand-in driver.
#include "runtime/Api.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/KernelLoader.h"

#include "cuda/CudaTestModel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

using namespace nncc::rt::cuda;

namespace {

constexpr int64_t kInputs = testmodel::kInputs, kOutputs = testmodel::kOutputs;

/// Calls of the driver that fail while this lives; see tools/cuda-emulator/README.md.
struct Failing {
  explicit Failing(const std::string &rules) { setenv("CUDA_EMULATOR_FAIL", rules.c_str(), 1); }
  ~Failing() { unsetenv("CUDA_EMULATOR_FAIL"); }
};

/// The tensors of one call, in host memory or in that of the device.
class Tensors {
public:
  explicit Tensors(int64_t n, const Driver *device = nullptr, int64_t imageOffsetBytes = 0)
      : device(device), image(static_cast<size_t>(n * kInputs)), index(static_cast<size_t>(n)),
        logits(static_cast<size_t>(n * kOutputs), -7),
        picked(static_cast<size_t>(n), -7), shapes{{n, kInputs}, {n}, {n, kOutputs}, {n}} {
    for (size_t i = 0; i < image.size(); ++i)
      image[i] = static_cast<float>(i * 37 % 19) - 9;
    for (size_t i = 0; i < index.size(); ++i)
      index[i] = static_cast<int64_t>(i) % kOutputs;
    constexpr DLDataType kF32 = {kDLFloat, 32, 1}, kI64 = {kDLInt, 64, 1};
    inputs[0] = place(image.data(), image.size() * 4, kF32, 0, imageOffsetBytes);
    inputs[1] = place(index.data(), index.size() * 8, kI64, 1, 0);
    outputs[0] = place(logits.data(), logits.size() * 4, kF32, 2, 0);
    outputs[1] = place(picked.data(), picked.size() * 4, kF32, 3, 0);
  }
  ~Tensors() {
    for (CUdeviceptr block : blocks)
      device->cuMemFree_v2(block);
  }

  void expectRight() {
    if (device) {
      fetch(logits, outputs[0]);
      fetch(picked, outputs[1]);
    }
    expectRight(logits, picked);
  }
  void expectRight(const std::vector<float> &foundLogits, const std::vector<float> &foundPicked) {
    for (size_t n = 0; n < index.size(); ++n) {
      std::vector<float> expected = testmodel::expectedLogits(image.data() + n * kInputs);
      for (size_t o = 0; o < kOutputs; ++o)
        ASSERT_EQ(foundLogits[n * kOutputs + o], expected[o]) << "row " << n;
      ASSERT_EQ(foundPicked[n], expected[static_cast<size_t>(index[n])]) << "row " << n;
    }
  }
  void fetch(std::vector<float> &values, const DLTensor &tensor) const {
    ASSERT_EQ(tensor.device.device_type, kDLCUDA);
    ASSERT_EQ(device->cuMemcpyDtoH_v2(values.data(), reinterpret_cast<CUdeviceptr>(tensor.data),
                                      values.size() * 4),
              CUDA_SUCCESS);
  }

  DLTensor inputs[2], outputs[2];

private:
  DLTensor place(void *host, size_t bytes, DLDataType type, size_t shape, int64_t offsetBytes) {
    DLTensor tensor{host, {kDLCPU, 0},          static_cast<int32_t>(shapes[shape].size()),
                    type, shapes[shape].data(), nullptr,
                    0};
    if (!device)
      return tensor;
    CUdeviceptr block = 0;
    EXPECT_EQ(device->cuMemAlloc_v2(&block, bytes + static_cast<size_t>(offsetBytes)),
              CUDA_SUCCESS);
    blocks.push_back(block);
    CUdeviceptr address = block + static_cast<CUdeviceptr>(offsetBytes);
    EXPECT_EQ(device->cuMemcpyHtoD_v2(address, host, bytes), CUDA_SUCCESS);
    tensor.data = reinterpret_cast<void *>(address);
    tensor.device = {kDLCUDA, 0};
    return tensor;
  }

  const Driver *device;
  std::vector<CUdeviceptr> blocks;

public:
  std::vector<float> image;
  std::vector<int64_t> index;
  std::vector<float> logits, picked;

private:
  std::vector<int64_t> shapes[4];
};

class CudaInstance : public testing::Test {
protected:
  CudaInstance() : api(nncc::rt::makeApi(source.descriptor())) {}

  void SetUp() override {
    if (std::string missing = testmodel::prepareStandIn(); !missing.empty())
      GTEST_SKIP() << missing;
    auto opened = Device::open(0);
    ASSERT_TRUE(opened) << opened.error().message;
    device = *opened;
    auto entered = device->enter();
    ASSERT_TRUE(entered) << entered.error().message;
    scope.emplace(std::move(*entered));
    model = createModel();
    ASSERT_EQ(api.create_instance(model, nullptr, &instance), NNCC_OK)
        << api.instance_error(instance);
  }
  void TearDown() override {
    if (instance)
      api.destroy_instance(instance);
    if (model)
      api.destroy_model(model);
  }

  nncc_model *createModel() {
    nncc_model_options options{};
    options.size = sizeof(options);
    options.device = "cuda";
    nncc_model *made = nullptr;
    EXPECT_EQ(api.create_model(&api, &options, &made), NNCC_OK) << api.model_error(made);
    return made;
  }
  nncc_status run(Tensors &tensors, const nncc_run_options *options = nullptr) {
    return api.run(instance, tensors.inputs, 2, tensors.outputs, 2, options);
  }
  void expectRuns(Tensors &tensors, const nncc_run_options *options = nullptr) {
    ASSERT_EQ(run(tensors, options), NNCC_OK) << lastError();
    tensors.expectRight();
  }
  std::string lastError() const { return api.instance_error(instance); }
  const Driver *driver() const { return &device->driver(); }
  size_t freeBytes() const {
    size_t available = 0, total = 0;
    EXPECT_EQ(driver()->cuMemGetInfo_v2(&available, &total), CUDA_SUCCESS);
    return available;
  }

  testmodel::CudaModel source;
  nncc_api api;
  std::shared_ptr<const Device> device;
  std::optional<Device::Scope> scope; ///< the tests' own allocations need a current context
  nncc_model *model = nullptr;
  nncc_instance *instance = nullptr;
};

} // namespace

TEST_F(CudaInstance, UsesTensorsOnTheDeviceWhereTheyLie) {
  Tensors tensors(7, driver());
  Failing copies("cuMemcpyHtoDAsync_v2:*:999,cuMemcpyDtoDAsync_v2:*:999");
  ASSERT_EQ(run(tensors), NNCC_OK) << lastError();
  tensors.expectRight();
}

TEST_F(CudaInstance, CopiesADeviceTensorThatIsNotAligned) {
  Tensors tensors(7, driver(), /*imageOffsetBytes=*/4);
  expectRuns(tensors);
  Failing copies("cuMemcpyDtoDAsync_v2:1:999");
  EXPECT_EQ(run(tensors), NNCC_ENVIRONMENT_ERROR);
}

TEST_F(CudaInstance, TakesEachTensorFromAnotherPlace) {
  Tensors here(7), there(7, driver());
  std::swap(here.inputs[0], there.inputs[0]);
  std::swap(here.outputs[1], there.outputs[1]);
  ASSERT_EQ(run(here), NNCC_OK) << lastError();
  there.fetch(there.picked, here.outputs[1]);
  here.expectRight(here.logits, there.picked);
}

TEST_F(CudaInstance, CopiesPageLockedTensorsWithoutStaging) {
  Tensors tensors(7);
  for (DLTensor *tensor :
       {&tensors.inputs[0], &tensors.inputs[1], &tensors.outputs[0], &tensors.outputs[1]})
    tensor->device = {kDLCUDAHost, 0};
  Failing staging("cuMemHostAlloc:*:2");
  ASSERT_EQ(run(tensors), NNCC_OK) << lastError();
  tensors.expectRight();
  tensors.outputs[1].device = {kDLCPU, 0};
  EXPECT_EQ(run(tensors), NNCC_ENVIRONMENT_ERROR) << "staging would have been needed";
}

TEST_F(CudaInstance, AllocatesResultsWhereTheFirstInputIs) {
  size_t before = freeBytes();
  {
    Tensors tensors(7, driver());
    DLManagedTensorVersioned *results[2];
    ASSERT_EQ(api.run_allocate(instance, tensors.inputs, 2, results, 2, nullptr), NNCC_OK)
        << lastError();
    // Results outlive what made them.
    api.destroy_instance(instance);
    api.destroy_model(model);
    instance = nullptr;
    model = nullptr;
    std::vector<float> logits(7 * kOutputs), picked(7);
    tensors.fetch(logits, results[0]->dl_tensor);
    tensors.fetch(picked, results[1]->dl_tensor);
    tensors.expectRight(logits, picked);
    for (DLManagedTensorVersioned *result : results)
      result->deleter(result);
  }
  EXPECT_GT(freeBytes(), before) << "the model's own memory is given back too";
}

TEST_F(CudaInstance, AllocatesResultsWhereTheOptionsSay) {
  nncc_run_options options{};
  options.size = sizeof(options);
  DLManagedTensorVersioned *results[2];
  Tensors here(7), there(7, driver());
  for (auto [tensors, wanted] : {std::pair(&here, kDLCUDA), std::pair(&there, kDLCPU)}) {
    options.output_device = wanted;
    ASSERT_EQ(api.run_allocate(instance, tensors->inputs, 2, results, 2, &options), NNCC_OK)
        << lastError();
    for (DLManagedTensorVersioned *result : results) {
      EXPECT_EQ(result->dl_tensor.device.device_type, wanted);
      result->deleter(result);
    }
  }
  options.output_device = 99;
  EXPECT_EQ(api.run_allocate(instance, here.inputs, 2, results, 2, &options), NNCC_USER_ERROR);
  EXPECT_EQ(lastError(), "expected an output_device of 0, kDLCPU or kDLCUDA, found 99");
}

TEST_F(CudaInstance, TakesAWorkspaceOnTheDevice) {
  nncc_plan_info plan{};
  plan.size = sizeof(plan);
  int64_t n = 7;
  ASSERT_EQ(api.plan(instance, &n, 1, &plan), NNCC_OK) << lastError();
  EXPECT_EQ(plan.arena_bytes, 128);
  EXPECT_EQ(plan.workspace_bytes, 128);
  EXPECT_EQ(plan.lanes, 1);
  Tensors tensors(7);
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver()->cuMemAlloc_v2(&memory, 128), CUDA_SUCCESS);
  nncc_run_options options{};
  options.size = sizeof(options);
  options.workspace = reinterpret_cast<void *>(memory);
  options.workspace_bytes = 128;
  expectRuns(tensors, &options);
  options.workspace_bytes = 127;
  EXPECT_EQ(run(tensors, &options), NNCC_USER_ERROR);
  EXPECT_EQ(lastError(), "the workspace has 127 bytes, this run needs 128");
  alignas(64) char onTheHost[128];
  options.workspace = onTheHost;
  options.workspace_bytes = 128;
  EXPECT_EQ(run(tensors, &options), NNCC_USER_ERROR);
  EXPECT_EQ(lastError(), "the workspace must be in the memory of CUDA device 0");
  driver()->cuMemFree_v2(memory);
}

TEST_F(CudaInstance, LaunchesWhatItHasSeenTwiceAsAGraph) {
  Tensors seven(7), eight(8);
  expectRuns(seven);
  expectRuns(seven);
  expectRuns(eight);
  Failing launches("cuLaunchKernel:*:999");
  expectRuns(seven);
  EXPECT_EQ(run(eight), NNCC_ENVIRONMENT_ERROR);
  EXPECT_EQ(lastError(), "CUDA: small.nn:3:7: kernel 'linear', or one before it, failed: "
                         "cuLaunchKernel returned CUDA_ERROR_UNKNOWN (unknown error)");
}

TEST_F(CudaInstance, AGraphReadsTheTensorsOfItsOwnCall) {
  for (int round = 0; round < 4; ++round) {
    Tensors tensors(7, round % 2 ? driver() : nullptr);
    for (float &value : tensors.image)
      value += static_cast<float>(round);
    if (round % 2)
      ASSERT_EQ(driver()->cuMemcpyHtoD_v2(reinterpret_cast<CUdeviceptr>(tensors.inputs[0].data),
                                          tensors.image.data(), tensors.image.size() * 4),
                CUDA_SUCCESS);
    expectRuns(tensors);
    expectRuns(tensors);
  }
}

TEST_F(CudaInstance, GrowsWithTheBatchAndKeepsItsMemory) {
  for (int64_t n : {1, 1, 64, 64, 1, 1, 64})
    if (Tensors tensors(n); true)
      expectRuns(tensors);
  size_t before = freeBytes();
  Failing allocations("cuMemAlloc_v2:*:2,cuMemHostAlloc:*:2");
  for (int64_t n = 1; n <= 64; ++n)
    if (Tensors tensors(n); true)
      expectRuns(tensors);
  EXPECT_EQ(freeBytes(), before);
}

TEST_F(CudaInstance, SaysHowMuchMemoryWasWantedAndWasFree) {
  Tensors tensors(64);
  Failing allocations("cuMemAlloc_v2:1:2");
  EXPECT_EQ(run(tensors), NNCC_ENVIRONMENT_ERROR);
  std::string message = lastError();
  EXPECT_EQ(message.substr(0, message.find(';')),
            "CUDA: cannot allocate 768 bytes of device memory for the arena: cuMemAlloc returned "
            "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_NE(message.find("of device 0's 8589934592 bytes are free"), std::string::npos) << message;
  // The instance works again when there is memory.
  expectRuns(tensors);
}

TEST_F(CudaInstance, WaitsForTheCallersStream) {
  CUstream stream = nullptr;
  ASSERT_EQ(driver()->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  nncc_run_options options{};
  options.size = sizeof(options);
  options.stream = stream;
  Tensors tensors(7, driver());
  expectRuns(tensors, &options);
  {
    Failing waiting("cuStreamWaitEvent:1:400");
    EXPECT_EQ(run(tensors, &options), NNCC_ENVIRONMENT_ERROR);
    EXPECT_EQ(lastError(), "CUDA: cannot wait for the caller's stream: cuStreamWaitEvent returned "
                           "CUDA_ERROR_INVALID_HANDLE (invalid resource handle)");
  }
  driver()->cuStreamDestroy_v2(stream);
}

TEST_F(CudaInstance, RunsInSeveralThreadsAtOnce) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      nncc_instance *own = nullptr;
      ASSERT_EQ(api.create_instance(model, nullptr, &own), NNCC_OK) << api.instance_error(own);
      for (int64_t n : {t + 1, t + 1, 30 - t, t + 1, 30 - t, 30 - t}) {
        Tensors tensors(n);
        ASSERT_EQ(api.run(own, tensors.inputs, 2, tensors.outputs, 2, nullptr), NNCC_OK)
            << api.instance_error(own);
        tensors.expectRight();
      }
      api.destroy_instance(own);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CudaInstance, LeavesTheCallersContextCurrent) {
  CUcontext before = nullptr, after = nullptr;
  driver()->cuCtxGetCurrent(&before);
  Tensors tensors(7);
  expectRuns(tensors);
  tensors.index[3] = 9;
  EXPECT_EQ(run(tensors), NNCC_USER_ERROR);
  EXPECT_NE(lastError().find("an index names an element outside"), std::string::npos);
  driver()->cuCtxGetCurrent(&after);
  EXPECT_EQ(before, after);
  tensors.index[3] = 0;
  expectRuns(tensors);
}

TEST_F(CudaInstance, AFaultEndsTheSessionWithOneMessage) {
  Tensors tensors(7);
  {
    Failing fault("cuStreamSynchronize:1:700");
    EXPECT_EQ(run(tensors), NNCC_ENVIRONMENT_ERROR);
  }
  std::string message = lastError();
  EXPECT_EQ(
      message.find("CUDA: a kernel of the run failed: cuStreamSynchronize returned "
                   "CUDA_ERROR_ILLEGAL_ADDRESS (illegal memory access). CUDA device 0 accepts "
                   "nothing more from this process; start a new one."),
      0u)
      << message;
  EXPECT_EQ(run(tensors), NNCC_ENVIRONMENT_ERROR);
  EXPECT_EQ(lastError(), message);
  nncc_instance *another = nullptr;
  EXPECT_EQ(api.create_instance(model, nullptr, &another), NNCC_ENVIRONMENT_ERROR);
  EXPECT_EQ(api.instance_error(another), message);
  api.destroy_instance(another);
}

TEST_F(CudaInstance, NamesTheKernelWhenItWaitsForEach) {
  setenv("NNCC_CUDA_SYNC", "1", 1);
  nncc_instance *careful = nullptr;
  ASSERT_EQ(api.create_instance(model, nullptr, &careful), NNCC_OK);
  unsetenv("NNCC_CUDA_SYNC");
  Tensors tensors(7);
  Failing fault("cuStreamSynchronize:2:700");
  EXPECT_EQ(api.run(careful, tensors.inputs, 2, tensors.outputs, 2, nullptr),
            NNCC_ENVIRONMENT_ERROR);
  EXPECT_EQ(std::string(api.instance_error(careful))
                .find("CUDA: small.nn:4:7: kernel 'relu' failed: cuStreamSynchronize returned"),
            0u)
      << api.instance_error(careful);
  api.destroy_instance(careful);
}

TEST_F(CudaInstance, ProfilesByTheDevicesClock) {
  Tensors tensors(7);
  ASSERT_EQ(api.set_profiling(instance, 1), NNCC_OK);
  for (int i = 0; i < 3; ++i)
    expectRuns(tensors);
  int64_t end = 0;
  for (size_t step = 0; step < 3; ++step) {
    nncc_step_profile profile{};
    profile.size = sizeof(profile);
    ASSERT_EQ(api.step_profile(instance, step, &profile), NNCC_OK);
    EXPECT_EQ(profile.calls, 3);
    EXPECT_GE(profile.min_ns, 0);
    EXPECT_GE(profile.last_start_ns, end);
    end = profile.last_start_ns;
  }
}

namespace {

/// What becomes of a model with code for `architecture` on the stand-in, an sm_80, without NVRTC.
std::string loadAhead(const char *architecture) {
  testmodel::CudaModel source;
  source.compileAhead(architecture);
  nncc::rt::ModelDescriptor descriptor = source.withoutCpu();
  nncc_api api = nncc::rt::makeApi(descriptor);
  setenv("NNCC_NVRTC", "/no/such/libnvrtc.so", 1);
  nncc_model *model = nullptr;
  nncc_status status = api.create_model(&api, nullptr, &model);
  unsetenv("NNCC_NVRTC");
  std::string message = status == NNCC_OK ? "" : api.model_error(model);
  if (status == NNCC_OK) {
    nncc_instance *instance = nullptr;
    Tensors tensors(7);
    EXPECT_EQ(api.create_instance(model, nullptr, &instance), NNCC_OK);
    EXPECT_EQ(api.run(instance, tensors.inputs, 2, tensors.outputs, 2, nullptr), NNCC_OK);
    tensors.expectRight();
    api.destroy_instance(instance);
  }
  api.destroy_model(model);
  return message;
}

} // namespace

TEST(AheadOfTime, CodeThatFitsNeedsNoNvrtc) {
  if (std::string missing = testmodel::prepareStandIn(); !missing.empty())
    GTEST_SKIP() << missing;
  EXPECT_EQ(loadAhead("sm_80"), "");
  std::string message = loadAhead("sm_90");
  EXPECT_EQ(message.find("the model's machine code is for sm_90, which this device does not take. "
                         "NVRTC, the CUDA run-time compiler, cannot be loaded."),
            0u)
      << message;
  EXPECT_NE(message.find("or compile the model with nncc --arch=sm_80"), std::string::npos);
}

TEST(AheadOfTime, TakesTheNewestArchitectureOfTheSameMajorVersion) {
  const char *architectures[] = {"sm_75", "sm_80", "sm_86", "sm_90a", "sm_90", "sm_120"};
  auto chosen = [&](int capability) -> std::string {
    std::optional<size_t> index = chooseArchitecture(architectures, capability);
    return index ? architectures[*index] : "none";
  };
  EXPECT_EQ(chosen(75), "sm_75");
  EXPECT_EQ(chosen(70), "none");
  EXPECT_EQ(chosen(80), "sm_80");
  EXPECT_EQ(chosen(86), "sm_86");
  EXPECT_EQ(chosen(89), "sm_86");
  EXPECT_EQ(chosen(100), "none");
  EXPECT_EQ(chosen(121), "sm_120");
  EXPECT_EQ(chosen(90), "sm_90");
  EXPECT_EQ(chooseArchitecture(std::span(architectures).subspan(3, 1), 90), 0u); // sm_90a
  EXPECT_EQ(chooseArchitecture(std::span(architectures).subspan(3, 1), 91), std::nullopt);
}
