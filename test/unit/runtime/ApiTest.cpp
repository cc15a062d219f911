// The C interface in one process: what it tells, runs, errors, sized structs, allocator, DLPack
// rules. What holds on every device is tested on the CPU and on the stand-in CUDA device.
#include "runtime/Api.h"

#include "cuda/CudaTestModel.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

using nncc::rt::makeApi;

struct Tensors {
  explicit Tensors(int64_t n) : imageShape{n, 4}, indexShape{n}, logitsShape{n, 3}, pickedShape{n} {
    for (int64_t i = 0; i < n * 4; ++i)
      image.push_back(static_cast<float>(i % 5) - 2);
    for (int64_t i = 0; i < n; ++i)
      index.push_back(i % 3);
    logits.resize(static_cast<size_t>(n * 3));
    picked.resize(static_cast<size_t>(n));
    inputs[0] = dl(image.data(), {kDLFloat, 32, 1}, 2, imageShape);
    inputs[1] = dl(index.data(), {kDLInt, 64, 1}, 1, indexShape);
    outputs[0] = dl(logits.data(), {kDLFloat, 32, 1}, 2, logitsShape);
    outputs[1] = dl(picked.data(), {kDLFloat, 32, 1}, 1, pickedShape);
  }

  static DLTensor dl(void *data, DLDataType type, int32_t rank, int64_t *shape) {
    return {data, {kDLCPU, 0}, rank, type, shape, nullptr, 0};
  }

  void expectRight(const float *result) const {
    for (size_t n = 0; n < index.size(); ++n)
      for (size_t o = 0; o < 3; ++o)
        ASSERT_EQ(result[n * 3 + o], testmodel::expectedLogits(image.data() + n * 4)[o]);
  }

  std::vector<float> image, logits, picked;
  std::vector<int64_t> index;
  int64_t imageShape[2], indexShape[1], logitsShape[2], pickedShape[1];
  DLTensor inputs[2], outputs[2];
};

class ModelTest : public testing::Test {
protected:
  ModelTest() : api(makeApi(source.descriptor())) {}
  ~ModelTest() override {
    if (instance)
      api.destroy_instance(instance);
    if (model)
      api.destroy_model(model);
  }

  void open(const char *device) {
    nncc_model_options options{};
    options.size = sizeof(options);
    options.device = device;
    ASSERT_EQ(api.create_model(&api, &options, &model), NNCC_OK) << api.model_error(model);
    ASSERT_EQ(api.create_instance(model, nullptr, &instance), NNCC_OK)
        << api.instance_error(instance);
  }

  std::string lastError() const { return api.instance_error(instance); }

  testmodel::CudaModel source;
  nncc_api api;
  nncc_model *model = nullptr;
  nncc_instance *instance = nullptr;
};

/// On every device.
class Api : public ModelTest, public testing::WithParamInterface<const char *> {
protected:
  void SetUp() override {
    if (std::string missing = isCpu() ? "" : testmodel::prepareStandIn(); !missing.empty())
      GTEST_SKIP() << missing;
    open(GetParam());
  }
  bool isCpu() const { return std::string(GetParam()) == "cpu"; }
};

/// What belongs to the CPU, its threads and its memory.
class CpuApi : public ModelTest {
protected:
  void SetUp() override { open("cpu"); }
};

INSTANTIATE_TEST_SUITE_P(Devices, Api, testing::Values("cpu", "cuda"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace

TEST_P(Api, SaysItsVersionAndSize) {
  EXPECT_EQ(api.version, NNCC_ABI_VERSION);
  EXPECT_EQ(api.size, sizeof(nncc_api));
}

TEST_P(Api, TellsWhatTheModelIs) {
  const nncc_model_info *info = api.model_info(model);
  ASSERT_NE(info, nullptr);
  EXPECT_STREQ(info->name, "Small");
  EXPECT_STREQ(info->build_id, "b1");
  EXPECT_STREQ(info->target, GetParam());
  const char *level = source.descriptor().variants[0].cpuLevel;
  EXPECT_STREQ(info->cpu_level, isCpu() ? level : "sm_80");
  EXPECT_EQ(info->targets, "cpu (" + std::string(level) + "), cuda (by NVRTC)");
  ASSERT_EQ(info->dim_count, 1u);
  EXPECT_STREQ(info->dims[0].name, "N");
  EXPECT_EQ(info->dims[0].max, 64);
  ASSERT_EQ(info->input_count, 2u);
  EXPECT_STREQ(info->inputs[0].name, "image");
  EXPECT_STREQ(info->inputs[0].type_text, "f32[N, 4]");
  EXPECT_EQ(info->inputs[0].rank, 2);
  EXPECT_EQ(info->inputs[0].shape[0].value, -1);
  EXPECT_STREQ(info->inputs[0].shape[0].text, "N");
  EXPECT_EQ(info->inputs[0].shape[1].value, 4);
  EXPECT_EQ(info->inputs[1].dtype.code, kDLInt);
  EXPECT_EQ(info->inputs[1].dtype.bits, 64);
  ASSERT_EQ(info->output_count, 2u);
  EXPECT_STREQ(info->outputs[1].name, "picked");
  ASSERT_EQ(info->parameter_count, 2u);
  EXPECT_STREQ(info->parameters[0].type_text, "f32[3, 4]");
  ASSERT_EQ(info->kernel_count, 4u);
  EXPECT_STREQ(info->kernels[1].source, "small.nn:3:7");
  EXPECT_EQ(info->step_count, 3u);
}

TEST_P(Api, RunsOnBorrowedTensors) {
  for (int64_t n : {1, 7, 64}) {
    Tensors t(n);
    ASSERT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, nullptr), NNCC_OK) << lastError();
    t.expectRight(t.logits.data());
  }
}

TEST_P(Api, AllocatesResultsThatOutliveTheInstance) {
  Tensors t(7);
  DLManagedTensorVersioned *results[2];
  ASSERT_EQ(api.run_allocate(instance, t.inputs, 2, results, 2, nullptr), NNCC_OK) << lastError();
  api.destroy_instance(instance);
  instance = nullptr;
  EXPECT_EQ(results[0]->version.major, 1u);
  EXPECT_EQ(results[0]->dl_tensor.ndim, 2);
  EXPECT_EQ(results[0]->dl_tensor.shape[0], 7);
  EXPECT_EQ(results[0]->dl_tensor.shape[1], 3);
  EXPECT_EQ(results[0]->dl_tensor.strides, nullptr);
  t.expectRight(static_cast<const float *>(results[0]->dl_tensor.data));
  for (DLManagedTensorVersioned *result : results)
    result->deleter(result);
}

TEST_P(Api, LeavesNoResultsAfterAFailure) {
  Tensors t(7);
  t.index[2] = -1;
  DLManagedTensorVersioned *results[3] = {reinterpret_cast<DLManagedTensorVersioned *>(1)};
  EXPECT_EQ(api.run_allocate(instance, t.inputs, 2, results, 2, nullptr), NNCC_USER_ERROR);
  EXPECT_EQ(results[0], nullptr);
  t.index[2] = 0;
  EXPECT_EQ(api.run_allocate(instance, t.inputs, 2, results, 3, nullptr), NNCC_USER_ERROR);
  EXPECT_EQ(lastError(), "model 'Small' gives 2 outputs, found room for 3");
}

TEST_P(Api, FollowsDLPackOffsetsAndStrides) {
  Tensors t(7);
  std::vector<float> shifted(3);
  shifted.insert(shifted.end(), t.image.begin(), t.image.end());
  t.inputs[0].data = shifted.data();
  t.inputs[0].byte_offset = 12;
  int64_t compact[] = {4, 1};
  t.inputs[0].strides = compact;
  ASSERT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, nullptr), NNCC_OK) << lastError();
  t.expectRight(t.logits.data());

  // Nothing lies between the elements of a tensor without any, whatever its strides.
  Tensors empty(7);
  empty.imageShape[0] = 0;
  int64_t odd[] = {9, 2};
  empty.inputs[0].strides = odd;
  EXPECT_EQ(api.run(instance, empty.inputs, 2, empty.outputs, 2, nullptr), NNCC_USER_ERROR);
  EXPECT_NE(lastError().find("dim 0 must be in the range"), std::string::npos) << lastError();

  int64_t transposed[] = {1, 7};
  t.inputs[0].strides = transposed;
  EXPECT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, nullptr), NNCC_USER_ERROR);
  EXPECT_EQ(lastError(), "input \"image\": expected a compact row-major tensor, found other "
                         "strides; make it contiguous first");
  t.inputs[0].strides = nullptr;
  t.inputs[0].device = {kDLCUDA, 1};
  EXPECT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, nullptr), NNCC_USER_ERROR);
  EXPECT_EQ(lastError(),
            isCpu()
                ? "input \"image\": expected a tensor in CPU memory, found one on CUDA device 1; "
                  "the model runs on the device \"cpu\""
                : "input \"image\": expected a tensor in CPU memory or on CUDA device 0, found "
                  "one on CUDA device 1");
  t.inputs[0].device.device_type = static_cast<DLDeviceType>(8);
  EXPECT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, nullptr), NNCC_USER_ERROR);
  EXPECT_EQ(lastError(),
            "input \"image\": expected a tensor in CPU or CUDA memory, found DLPack device type 8");
  t.inputs[0].device = {kDLCPU, 0};
  t.inputs[0].dtype.lanes = 4;
  EXPECT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, nullptr), NNCC_USER_ERROR);
  EXPECT_NE(lastError().find("unknown DLPack element type (code 2, 32 bits, 4 lanes)"),
            std::string::npos);
}

TEST_F(CpuApi, PlansMemoryAndTakesAWorkspace) {
  nncc_plan_info plan{};
  plan.size = sizeof(plan);
  int64_t n = 7;
  ASSERT_EQ(api.plan(instance, &n, 1, &plan), NNCC_OK) << lastError();
  EXPECT_EQ(plan.arena_bytes, 128);
  EXPECT_EQ(plan.sum_bytes, 128);
  EXPECT_EQ(plan.lower_bound_bytes, 128);
  EXPECT_EQ(plan.scratch_bytes_per_lane, 64);
  EXPECT_EQ(plan.workspace_bytes, 128 + 64 * plan.lanes);
  void *memory = aligned_alloc(64, static_cast<size_t>(plan.workspace_bytes));
  nncc_run_options options{sizeof(options), 0, memory, static_cast<size_t>(plan.workspace_bytes)};
  Tensors t(7);
  EXPECT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, &options), NNCC_OK) << lastError();
  t.expectRight(t.logits.data());
  options.workspace_bytes = 1;
  EXPECT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, &options), NNCC_USER_ERROR);
  free(memory);
  n = 65;
  EXPECT_EQ(api.plan(instance, &n, 1, &plan), NNCC_USER_ERROR);
}

TEST_P(Api, ProfilesEachStep) {
  nncc_step_profile profile{};
  profile.size = sizeof(profile);
  EXPECT_EQ(api.step_profile(instance, 0, &profile), NNCC_USER_ERROR);
  EXPECT_EQ(lastError(), "there is no profile; call set_profiling and run first");
  Tensors t(7);
  ASSERT_EQ(api.set_profiling(instance, 1), NNCC_OK);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, nullptr), NNCC_OK);
  for (size_t step = 0; step < 3; ++step) {
    ASSERT_EQ(api.step_profile(instance, step, &profile), NNCC_OK);
    EXPECT_EQ(profile.kernel, step + 1);
    EXPECT_EQ(profile.calls, 3);
    EXPECT_GE(profile.total_ns, 3 * profile.min_ns);
    EXPECT_EQ(profile.tasks, 7);
    EXPECT_EQ(profile.flops, 100'000'000);
  }
  EXPECT_EQ(profile.traffic_bytes, 7 * 24);
  EXPECT_EQ(api.step_profile(instance, 3, &profile), NNCC_USER_ERROR);
}

// An older caller's struct is shorter; what lies beyond it must not be touched.
TEST_F(CpuApi, RespectsTheSizeOfStructs) {
  nncc_plan_info plan;
  std::memset(&plan, 0x5A, sizeof(plan));
  plan.size = offsetof(nncc_plan_info, arena_bytes);
  int64_t n = 7;
  ASSERT_EQ(api.plan(instance, &n, 1, &plan), NNCC_OK);
  EXPECT_EQ(plan.workspace_bytes, 128 + 64 * plan.lanes);
  EXPECT_EQ(plan.arena_bytes, 0x5A5A5A5A5A5A5A5A);
  EXPECT_EQ(plan.size, offsetof(nncc_plan_info, arena_bytes));

  nncc_model_options options{};
  options.device = "tpu";
  options.size = offsetof(nncc_model_options, device);
  nncc_model *other = nullptr;
  EXPECT_EQ(api.create_model(&api, &options, &other), NNCC_OK);
  api.destroy_model(other);
  options.size = sizeof(options);
  EXPECT_EQ(api.create_model(&api, &options, &other), NNCC_USER_ERROR);
  EXPECT_STREQ(api.model_error(other),
               "expected the device \"cpu\", \"cuda\" or \"cuda:N\", found \"tpu\"");
  EXPECT_EQ(api.model_info(other), nullptr);
  nncc_instance *none = nullptr;
  EXPECT_EQ(api.create_instance(other, nullptr, &none), NNCC_USER_ERROR);
  EXPECT_STREQ(api.instance_error(none), "the model was not loaded");
  EXPECT_EQ(api.plan(none, &n, 1, &plan), NNCC_USER_ERROR);
  api.destroy_instance(none);
  api.destroy_model(other);
  options.size = 0;
  EXPECT_EQ(api.create_model(&api, &options, &other), NNCC_USER_ERROR);
  EXPECT_NE(std::string(api.model_error(other)).find("set its size field"), std::string::npos);
  api.destroy_model(other);
}

TEST_P(Api, InstancesOutliveTheModel) {
  api.destroy_model(model);
  model = nullptr;
  Tensors t(3);
  ASSERT_EQ(api.run(instance, t.inputs, 2, t.outputs, 2, nullptr), NNCC_OK) << lastError();
  t.expectRight(t.logits.data());
}

namespace {

struct CountingAllocator {
  int64_t blocks = 0, liveBytes = 0;
  bool isEmpty = false;

  static void *allocate(void *context, size_t size, size_t alignment) {
    CountingAllocator &self = *static_cast<CountingAllocator *>(context);
    if (self.isEmpty)
      return nullptr;
    ++self.blocks;
    self.liveBytes += static_cast<int64_t>(size);
    return aligned_alloc(alignment, size);
  }
  static void release(void *context, void *block, size_t size) {
    static_cast<CountingAllocator *>(context)->liveBytes -= static_cast<int64_t>(size);
    free(block);
  }
};

} // namespace

TEST_F(CpuApi, TakesLargeBlocksFromTheCallersAllocator) {
  CountingAllocator allocator;
  nncc_model_options options{};
  options.size = sizeof(options);
  options.threads = 2;
  options.allocator = {&CountingAllocator::allocate, &CountingAllocator::release, &allocator};
  std::string log;
  options.log = [](void *context, const char *message) {
    static_cast<std::string *>(context)->append(message);
  };
  options.log_context = &log;
  nncc_model *other = nullptr;
  ASSERT_EQ(api.create_model(&api, &options, &other), NNCC_OK) << api.model_error(other);
  EXPECT_NE(log.find("weights embedded, packed at load"), std::string::npos) << log;
  nncc_instance *own = nullptr;
  ASSERT_EQ(api.create_instance(other, nullptr, &own), NNCC_OK);
  Tensors t(7);
  DLManagedTensorVersioned *results[2];
  ASSERT_EQ(api.run_allocate(own, t.inputs, 2, results, 2, nullptr), NNCC_OK);
  EXPECT_GE(allocator.blocks, 4); // the packed weight, the workspace, two results
  allocator.isEmpty = true;
  Tensors larger(64);
  EXPECT_EQ(api.run(own, larger.inputs, 2, larger.outputs, 2, nullptr), NNCC_ENVIRONMENT_ERROR);
  EXPECT_NE(std::string(api.instance_error(own)).find("out of memory"), std::string::npos);
  for (DLManagedTensorVersioned *result : results)
    result->deleter(result);
  api.destroy_instance(own);
  api.destroy_model(other);
  EXPECT_EQ(allocator.liveBytes, 0);
}

TEST_F(CpuApi, RefusesHalfAnAllocatorAndAParallelForWithoutLanes) {
  CountingAllocator allocator;
  nncc_model_options options{};
  options.size = sizeof(options);
  options.allocator = {&CountingAllocator::allocate, nullptr, &allocator};
  nncc_model *other = nullptr;
  EXPECT_EQ(api.create_model(&api, &options, &other), NNCC_USER_ERROR);
  EXPECT_STREQ(api.model_error(other),
               "expected both functions of the allocator or neither, found only allocate");
  api.destroy_model(other);
  options.allocator = {};
  options.parallel_for.run = [](void *, int64_t, void (*)(void *, int64_t), void *) {};
  EXPECT_EQ(api.create_model(&api, &options, &other), NNCC_USER_ERROR);
  EXPECT_STREQ(api.model_error(other), "expected a parallel_for with lanes >= 1, found 0");
  api.destroy_model(other);
}

// What a callback of the caller throws is not known here, and must not cross the interface.
TEST_F(CpuApi, LetsNoExceptionOut) {
  nncc_model_options options{};
  options.size = sizeof(options);
  options.log = [](void *, const char *) { throw 7; };
  nncc_model *other = nullptr;
  EXPECT_EQ(api.create_model(&api, &options, &other), NNCC_INTERNAL_ERROR);
  EXPECT_STREQ(api.model_error(other), "an exception of an unknown type was thrown");
  api.destroy_model(other);
}

TEST_P(Api, ACallWithoutAnInstanceIsAnError) {
  Tensors t(7);
  EXPECT_EQ(api.run(nullptr, t.inputs, 2, t.outputs, 2, nullptr), NNCC_USER_ERROR);
  EXPECT_EQ(api.set_profiling(nullptr, 1), NNCC_USER_ERROR);
  nncc_plan_info plan{};
  plan.size = sizeof(plan);
  EXPECT_EQ(api.plan(nullptr, nullptr, 0, &plan), NNCC_USER_ERROR);
}

TEST_P(Api, AnswersQuestionsWithoutWeights) {
  testmodel::CudaModel bare("");
  nncc_api bareApi = makeApi(bare.descriptor());
  nncc_model_options options{};
  options.size = sizeof(options);
  options.device = GetParam();
  options.info_only = 1;
  nncc_model *other = nullptr;
  ASSERT_EQ(bareApi.create_model(&bareApi, &options, &other), NNCC_OK);
  EXPECT_STREQ(bareApi.model_info(other)->name, "Small");
  nncc_instance *none = nullptr;
  EXPECT_EQ(bareApi.create_instance(other, nullptr, &none), NNCC_USER_ERROR);
  EXPECT_NE(std::string(bareApi.instance_error(none)).find("for information only"),
            std::string::npos);
  bareApi.destroy_instance(none);
  bareApi.destroy_model(other);
}
