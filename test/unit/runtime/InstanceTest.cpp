// Loading and running through LoadedProgram and Instance: results against the plain-loop reference,
// weights from every source, the texts of all errors, threads, times.
#include "runtime/Instance.h"

#include "runtime/CpuProgram.h"

#include "TemporaryFolder.h"
#include "TestModel.h"
#include "runtime/Safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace nncc;
using namespace nncc::rt;

namespace {

using Shape = std::vector<int64_t>;

std::shared_ptr<const CpuProgram> load(const testmodel::Model &model,
                                          const std::string &path = "") {
  LoadOptions options;
  options.weightsPath = path;
  options.threads.threads = 2;
  Result<std::shared_ptr<const CpuProgram>> loaded =
      CpuProgram::load(model.descriptor, options);
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    std::abort();
  }
  return *loaded;
}

Error loadError(const ModelDescriptor &descriptor, const std::string &path = "") {
  LoadOptions options;
  options.weightsPath = path;
  Result<std::shared_ptr<const CpuProgram>> loaded = CpuProgram::load(descriptor, options);
  return loaded ? Error{ErrorKind::Internal, "no error"} : loaded.error();
}

std::unique_ptr<Instance> makeInstance(std::shared_ptr<const CpuProgram> model,
                                       const ThreadOptions &threads = {2, {}}) {
  Result<std::unique_ptr<Instance>> instance = model->createInstance(threads, {});
  if (!instance) {
    ADD_FAILURE() << instance.error().message;
    std::abort();
  }
  return std::move(*instance);
}

struct Call {
  explicit Call(int64_t n)
      : image(static_cast<size_t>(n * 4)), index(static_cast<size_t>(n)),
        logits(static_cast<size_t>(n * 3), -7), picked(static_cast<size_t>(n), -7),
        imageShape{n, 4}, indexShape{n}, logitsShape{n, 3}, pickedShape{n} {
    for (size_t i = 0; i < image.size(); ++i)
      image[i] = static_cast<float>(static_cast<int>(i * 37 % 19) - 9);
    for (size_t i = 0; i < index.size(); ++i)
      index[i] = static_cast<int64_t>(i % 3);
  }

  std::vector<TensorView> inputs() {
    return {{DType::F32, imageShape, image.data()}, {DType::I64, indexShape, index.data()}};
  }
  std::vector<TensorView> outputs() {
    return {{DType::F32, logitsShape, logits.data()}, {DType::F32, pickedShape, picked.data()}};
  }

  Result<void> run(Instance &instance, std::span<std::byte> workspace = {}) {
    const EntryPoint &infer = *instance.model().program().findEntryPoint("infer");
    return instance.run(infer, {inputs(), outputs(), workspace});
  }

  void expectRight() const {
    for (size_t n = 0; n < index.size(); ++n) {
      std::vector<float> expected = testmodel::expectedLogits(image.data() + n * 4);
      for (size_t o = 0; o < 3; ++o)
        ASSERT_EQ(logits[n * 3 + o], expected[o]) << "row " << n;
      ASSERT_EQ(picked[n], expected[static_cast<size_t>(index[n])]) << "row " << n;
    }
  }

  std::vector<float> image;
  std::vector<int64_t> index;
  std::vector<float> logits, picked;
  Shape imageShape, indexShape, logitsShape, pickedShape;
};

void expectRuns(Instance &instance) {
  for (int64_t n : {1, 7, 64, 7, 2}) {
    Call call(n);
    Result<void> ran = call.run(instance);
    ASSERT_TRUE(ran) << ran.error().message;
    call.expectRight();
  }
}

void serialParallelFor(void *calls, int64_t count, void (*body)(void *, int64_t),
                       void *bodyContext) {
  ++*static_cast<int *>(calls);
  for (int64_t i = 0; i < count; ++i)
    body(bodyContext, i);
}

} // namespace

TEST(Instance, PreparesEmbeddedParameters) {
  testmodel::Model model(testmodel::parameterImage());
  std::shared_ptr<const CpuProgram> loaded = load(model);
  EXPECT_TRUE(loaded->weights().wasPrepared());
  expectRuns(*makeInstance(loaded));
}

TEST(Instance, UsesPreparedConstantsWhereTheyLie) {
  testmodel::Model model(testmodel::preparedImage("b1"));
  std::shared_ptr<const CpuProgram> loaded = load(model);
  EXPECT_FALSE(loaded->weights().wasPrepared());
  const std::byte *begin = static_cast<const std::byte *>(model.descriptor.weights);
  const std::byte *packed = loaded->weights().data()[4];
  EXPECT_GE(packed, begin);
  EXPECT_LT(packed, begin + model.descriptor.weightsBytes);
  expectRuns(*makeInstance(loaded));
}

TEST(Instance, TakesWeightsFromFiles) {
  TemporaryFolder folder;
  testmodel::Model model;
  expectRuns(
      *makeInstance(load(model, folder.write("p.safetensors", testmodel::parameterImage()))));
  expectRuns(
      *makeInstance(load(model, folder.write("c.safetensors", testmodel::preparedImage("b1")))));
  std::string file = folder / "c.safetensors";
  model.descriptor.weightsFile = file.c_str();
  expectRuns(*makeInstance(load(model)));
}

TEST(Instance, RunsOnAnyNumberOfThreads) {
  testmodel::Model model(testmodel::parameterImage());
  std::shared_ptr<const CpuProgram> loaded = load(model);
  for (int threads : {1, 2, 5})
    expectRuns(*makeInstance(loaded, {threads, {}}));
  int calls = 0;
  expectRuns(*makeInstance(loaded, {0, {&serialParallelFor, &calls, 3}}));
  EXPECT_GT(calls, 0);
}

TEST(Instance, RunsConcurrentlyWithOthers) {
  testmodel::Model model(testmodel::parameterImage());
  std::shared_ptr<const CpuProgram> loaded = load(model);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::unique_ptr<Instance> instance = makeInstance(loaded, {1 + t % 2, {}});
      for (int i = 0; i < 200; ++i) {
        Call call(1 + (i * 7 + t) % 64);
        ASSERT_TRUE(call.run(*instance));
        call.expectRight();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Instance, UsesTheCallersWorkspace) {
  testmodel::Model model(testmodel::parameterImage());
  std::unique_ptr<Instance> instance = makeInstance(load(model));
  int64_t dims[] = {7};
  Result<const BoundEntry *> bound =
      instance->bind(*instance->model().program().findEntryPoint("infer"), dims);
  ASSERT_TRUE(bound);
  // 7 rows of 12 bytes, rounded to 64, and 64 bytes of scratch memory for each of two lanes.
  EXPECT_EQ(instance->workspaceBytes(**bound), 128 + 2 * 64);
  alignas(64) std::byte memory[256];
  Call call(7);
  ASSERT_TRUE(call.run(*instance, memory));
  call.expectRight();
  EXPECT_EQ(call.run(*instance, std::span(memory).first(128)).error().message,
            "the workspace has 128 bytes, this run needs 256");
  EXPECT_EQ(call.run(*instance, std::span(memory).subspan(1)).error().message,
            "the workspace has 255 bytes, this run needs 256");
}

TEST(Instance, NamesWhatIsWrongWithAnInput) {
  testmodel::Model model(testmodel::parameterImage());
  std::unique_ptr<Instance> instance = makeInstance(load(model));
  auto errorOf = [&](auto change) {
    Call call(7);
    change(call);
    Result<void> ran = call.run(*instance);
    EXPECT_FALSE(ran);
    EXPECT_EQ(ran.error().kind, ErrorKind::User);
    return ran.error().message;
  };
  std::string expected = "input \"image\": expected f32[N, 4] with N = 1..64, found ";
  EXPECT_EQ(errorOf([](Call &c) { c.imageShape = {7, 5}; }),
            expected + "f32[7, 5]; dim 1 must be 4");
  EXPECT_EQ(errorOf([](Call &c) { c.imageShape = {4}; }), expected + "f32[4]; the rank must be 2");
  EXPECT_EQ(errorOf([](Call &c) { c.imageShape = {65, 4}; }),
            expected + "f32[65, 4]; dim 0 must be in the range N = 1..64");
  EXPECT_EQ(errorOf([](Call &c) { c.imageShape = {0, 4}; }),
            expected + "f32[0, 4]; dim 0 must be in the range N = 1..64");
  EXPECT_EQ(errorOf([](Call &c) { c.indexShape = {6}; }),
            "input \"index\": expected i64[N] with N = 1..64, found i64[6]; dim 0 must be N = 7 as "
            "in input \"image\"");
  EXPECT_EQ(errorOf([](Call &c) { c.logitsShape = {7, 4}; }),
            "output \"logits\": expected f32[7, 3], found f32[7, 4]");

  const EntryPoint &infer = *instance->model().program().findEntryPoint("infer");
  Call call(7);
  std::vector<TensorView> inputs = call.inputs(), outputs = call.outputs();
  EXPECT_EQ(instance->run(infer, {std::span(inputs).first(1), outputs, {}}).error().message,
            "model 'Small' takes 2 inputs (image: f32[N, 4], index: i64[N]), found 1");
  EXPECT_EQ(instance->run(infer, {inputs, std::span(outputs).first(1), {}}).error().message,
            "model 'Small' gives 2 outputs, found room for 1");
  inputs[0].dtype = DType::F64;
  EXPECT_EQ(instance->run(infer, {inputs, outputs, {}}).error().message,
            expected + "f64[7, 4]; the element type must be f32");
  inputs[0] = {DType::F32, call.imageShape, nullptr};
  EXPECT_EQ(instance->run(infer, {inputs, outputs, {}}).error().message,
            "input \"image\": its data pointer is null");
  inputs[0].data = reinterpret_cast<char *>(call.image.data()) + 1;
  EXPECT_NE(
      instance->run(infer, {inputs, outputs, {}}).error().message.find("not aligned to the 4 bytes"),
      std::string::npos);
}

TEST(Instance, ReportsAKernelThatFailsAndGoesOn) {
  testmodel::Model model(testmodel::parameterImage());
  std::unique_ptr<Instance> instance = makeInstance(load(model));
  Call call(20);
  call.index[13] = 3;
  Result<void> ran = call.run(*instance);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::User);
  EXPECT_EQ(ran.error().message,
            "small.nn:5:7: kernel 'pick': an index names an element outside the indexed dimension; "
            "check the values of the integer inputs");
  expectRuns(*instance);
}

TEST(Instance, ListsAllWeightsThatDoNotFit) {
  TemporaryFolder folder;
  std::vector<float> values(12);
  std::vector<SafetensorsSource> sources = {
      {"fc.weight", DType::F32, {4, 3}, std::as_bytes(std::span<const float>(values))},
      {"fc.bais", DType::F32, {3}, std::as_bytes(std::span<const float>(values).first(3))}};
  std::string path = folder / "w.safetensors";
  ASSERT_TRUE(writeSafetensors(path, sources, {}, SafetensorsAlignment::Start));
  testmodel::Model model;
  Error error = loadError(model.descriptor, path);
  EXPECT_EQ(error.kind, ErrorKind::User);
  EXPECT_EQ(error.message, "the weights in '" + path +
                               "' do not fit model 'Small':\n"
                               "  does not fit: 'fc.weight' expected f32[3, 4], found f32[4, 3]\n"
                               "  missing: 'fc.bias' f32[3]\n"
                               "  in the file, but not in the model: 'fc.bais'");
}

TEST(Instance, RefusesWeightsThatAreNotThereOrOfAnotherBuild) {
  testmodel::Model without;
  EXPECT_EQ(loadError(without.descriptor).message,
            "model 'Small' was compiled without weights; name a safetensors file with its weights");
  EXPECT_EQ(loadError(without.descriptor, "/no/such/file").kind, ErrorKind::User);
  testmodel::Model other(testmodel::preparedImage("b2"));
  EXPECT_NE(loadError(other.descriptor)
                .message.find("were prepared for another build of the model (b2, expected b1)"),
            std::string::npos);
  testmodel::Model damaged("not a safetensors image");
  EXPECT_NE(loadError(damaged.descriptor)
                .message.find("'embedded weights' is not a valid safetensors file"),
            std::string::npos);
}

TEST(Instance, ChoosesTheVariantForThisCpu) {
  testmodel::Model model(testmodel::parameterImage());
  ModelVariant variants[] = {{"sparc", nullptr, 0, 0, nullptr}, model.variant};
  model.descriptor.variants = variants;
  model.descriptor.variantCount = 2;
  EXPECT_EQ(load(model)->codeName(), model.variant.cpuLevel);
  model.descriptor.variantCount = 1;
  Error error = loadError(model.descriptor);
  EXPECT_EQ(error.kind, ErrorKind::Environment);
  EXPECT_NE(error.message.find("holds code for sparc, but this CPU is "), std::string::npos)
      << error.message;
}

TEST(Instance, ReportsAKernelWithoutCode) {
  testmodel::Model model(testmodel::parameterImage());
  model.variant.kernelCount = 2;
  Error error = loadError(model.descriptor);
  EXPECT_EQ(error.kind, ErrorKind::Internal);
  EXPECT_NE(error.message.find("no code for kernel 'relu_2'"), std::string::npos);
  model.descriptor.version = 99;
  EXPECT_NE(
      loadError(model.descriptor).message.find("expected model descriptor version 3, found 99"),
      std::string::npos);
}

TEST(Instance, ReportsAConstantThatNothingMakes) {
  Program program = testmodel::program();
  program.entryPoints[0].steps.clear();
  program.entryPoints[0].outputs.clear();
  testmodel::Model model(testmodel::parameterImage(), program);
  Error error = loadError(model.descriptor);
  EXPECT_EQ(error.kind, ErrorKind::Internal);
  EXPECT_EQ(error.message, "'prepare' of model 'Small' does not make 'fc.weight@packed'");
}

TEST(Instance, KeepsTimesPerStep) {
  testmodel::Model model(testmodel::parameterImage());
  std::unique_ptr<Instance> instance = makeInstance(load(model));
  const EntryPoint &infer = *instance->model().program().findEntryPoint("infer");
  expectRuns(*instance);
  EXPECT_TRUE(instance->timesOf(infer).empty());
  instance->setProfiling(true);
  expectRuns(*instance);
  std::span<const StepTimes> times = instance->timesOf(infer);
  ASSERT_EQ(times.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(times[i].calls, 5);
    EXPECT_GT(times[i].totalNs, 0);
    EXPECT_LE(times[i].minNs * 5, times[i].totalNs);
  }
  EXPECT_EQ(times[1].lastStartNs, times[0].lastStartNs + times[0].lastNs);
  instance->setProfiling(false);
  expectRuns(*instance);
  EXPECT_EQ(instance->timesOf(infer)[0].calls, 5);
}

// A model may return an input, a constant, or one result twice.
TEST(Instance, CopiesResultsThatLieElsewhere) {
  Program program = testmodel::program();
  EntryPoint &infer = program.entryPoints[1];
  infer.outputs = {6, 7, 6, 0, 3};
  testmodel::Model model(testmodel::parameterImage(), program);
  std::unique_ptr<Instance> instance = makeInstance(load(model));
  Call call(5);
  std::vector<float> again(15), image(20), bias(3);
  Shape biasShape = {3};
  std::vector<TensorView> outputs = call.outputs();
  outputs.push_back({DType::F32, call.logitsShape, again.data()});
  outputs.push_back({DType::F32, call.imageShape, image.data()});
  outputs.push_back({DType::F32, biasShape, bias.data()});
  Result<void> ran = instance->run(*instance->model().program().findEntryPoint("infer"),
                                   {call.inputs(), outputs, {}});
  ASSERT_TRUE(ran) << ran.error().message;
  call.expectRight();
  EXPECT_EQ(again, call.logits);
  EXPECT_EQ(image, call.image);
  EXPECT_EQ(bias, testmodel::bias());
}

TEST(Instance, RefusesOutputsThatShareMemory) {
  testmodel::Model model(testmodel::parameterImage());
  std::unique_ptr<Instance> instance = makeInstance(load(model));
  const EntryPoint &infer = *instance->model().program().findEntryPoint("infer");
  Call call(4);
  // The last row of the input is the first of the logits.
  std::vector<TensorView> outputs = call.outputs();
  outputs[0].data = call.image.data() + call.image.size() - 1;
  Result<void> ran = instance->run(infer, {call.inputs(), outputs, {}});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "output \"logits\" shares memory with input \"image\"; give it "
                                 "memory of its own");
  outputs = call.outputs();
  outputs[1].data = call.logits.data() + 2;
  ran = instance->run(infer, {call.inputs(), outputs, {}});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "output \"picked\" shares memory with output \"logits\"; give it "
                                 "memory of its own");
  // Neighbours share nothing.
  std::vector<float> both(call.logits.size() + call.picked.size());
  outputs[0].data = both.data();
  outputs[1].data = both.data() + call.logits.size();
  EXPECT_TRUE(instance->run(infer, {call.inputs(), outputs, {}}));
}

TEST(Instance, RefusesDimsOutOfRange) {
  testmodel::Model model(testmodel::parameterImage());
  std::unique_ptr<Instance> instance = makeInstance(load(model));
  const EntryPoint &infer = *instance->model().program().findEntryPoint("infer");
  EXPECT_EQ(instance->bind(infer, std::vector<int64_t>{65}).error().message,
            "dim N must be in the range 1..64, found 65");
  EXPECT_EQ(instance->bind(infer, {}).error().message,
            "model 'Small' has 1 named dims, found 0 values");
}
