// Tuning of a training step, and steps of which libraries do the products, convolutions and both gradients: on the stand-in device,
// with the stand-ins for cuBLASLt and cuDNN (test/fake-libraries).

#include "runtime/cuda/TuningFile.h"
#include "test/unit/runtime/TemporaryFolder.h"
#include "test/unit/training/CompiledModel.h"
#include "test/unit/training/ImageBatch.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace nncc;
using namespace nncc::test;
using rt::cuda::TunedKernel;
using rt::cuda::TuningFile;

namespace {

constexpr int kBatch = 4, kClasses = 5;

/// Convolutions whose kernels have a bias going forward, so that those without one are gradients.
constexpr char kLinear[] = R"(model Small(image: f32[N, 4, 8, 8]) {
  x = conv2d(image, 8, kernel = 3, padding = 1) as plain
  x = conv2d(x, 8, kernel = 3, padding = 1, groups = 2) as grouped
  x = conv2d(x, 8, kernel = 3, padding = 1, groups = 8) as depthwise
  x = conv2d(x, 8, kernel = 1) as pointwise
  x = relu(conv2d(x, 8, kernel = 3, stride = 2, padding = 1) as strided)
  x = dropout(x, 0.1)
  logits = linear(flatten(x), 5) as fc
  return logits
}
)";
/// Gradients of relus behind those of what reads them, and of a value that two read.
constexpr char kRelus[] = R"(model Small(image: f32[N, 4, 8, 8]) {
  x = relu(conv2d(image, 8, kernel = 3, padding = 1) as plain)
  y = relu(conv2d(x, 8, kernel = 3, padding = 1, groups = 2) as grouped)
  z = relu(conv2d(y, 8, kernel = 3, padding = 1) as second + x)
  z = relu(conv2d(z, 8, kernel = 1) as pointwise)
  h = relu(linear(flatten(z), 16) as hidden)
  logits = linear(h, 5) as fc
  return logits
}
)";
/// Behind five numbers, a bias, no parameter and no gradient begins at 16 bytes.
constexpr char kOdd[] = R"(model Odd(image: f32[N, 4, 8, 8]) {
  x = linear(flatten(image), 5) as first
  x = linear(relu(x), 16) as second
  logits = linear(x, 5) as third
  return logits
}
)";
constexpr char kTrain[] = R"(train {
  target label: i64[N]
  loss = cross_entropy(logits, label)
  optimizer = adamw(lr = 0.01)
  seed = 3
  metric accuracy = accuracy(logits, label)
}
)";

/// The batch of a step.
struct Batch : ImageBatch {
  explicit Batch(int step) : ImageBatch(step, {kBatch, 4, 8, 8}, kClasses) {}
};

/// Trains for steps `from` to `to` and returns the losses.
std::vector<double> train(Instance &trainer, int from, int to) {
  std::vector<double> losses;
  for (int step = from; step < to; ++step)
    losses.push_back(trainer.trainStep(Batch(step).inputs())[0]);
  return losses;
}

class TuneTraining : public testing::Test {
protected:
  void SetUp() override {
    if (std::string missing = prepareStandInDevice(Checks::None); !missing.empty())
      GTEST_SKIP() << missing;
    setenv("NNCC_CUBLASLT", NNCC_TEST_CUBLASLT, 1);
    setenv("NNCC_CUDNN", NNCC_TEST_CUDNN, 1);
  }
  void compile(const char *text, const std::string &train = kTrain) { model.emplace(text + train, On::Cuda); }
  void TearDown() override {
    for (const char *name : {"NNCC_CUBLASLT", "NNCC_CUDNN", "NNCC_FAKE_FAIL", "NNCC_CUDA_GRAPHS"})
      unsetenv(name);
  }

  /// Tunes, and trains with a library for every kernel that has one.
  void expectTheSameByLibraries(double tolerance);

  std::string stateOf(Instance &trainer) {
    trainer.saveState(folder / "state.safetensors");
    return TemporaryFolder::read(folder / "state.safetensors");
  }

  std::vector<TunedKernel> tunedKernels(const std::string &of) {
    auto file = TuningFile::load(of);
    EXPECT_TRUE(file && *file) << (file ? "there is none" : file.error().message);
    return (*file)->devices.at(0).kernels;
  }

  /// The file with what `choose` makes of each kernel.
  void rewrite(const std::function<void(TunedKernel &)> &choose) {
    auto file = TuningFile::load(path);
    for (TunedKernel &kernel : (*file)->devices.at(0).kernels)
      choose(kernel);
    folder.write("t.json", (*file)->write());
  }

  std::optional<CompiledModel> model;
  TemporaryFolder folder;
  std::string path = folder / "t.json";
};

bool isWeightGradient(const TunedKernel &kernel) { return kernel.name.starts_with("conv_weight_gradient"); }
/// Of convolutions: only the way back has no bias.
bool isDataGradient(const TunedKernel &kernel) {
  return kernel.name.starts_with("conv2d") && kernel.name.find("bias") == std::string::npos;
}

void TuneTraining::expectTheSameByLibraries(double tolerance) {
  Instance ours = model->trainer();
  ours.tuneTraining(Batch(0).inputs(), path);
  constexpr int kSteps = 6; // of which the last are graphs
  std::vector<double> expected = train(ours, 0, kSteps);
  // A convolution with a stride is its own gradient for no library: what has no time then.
  setenv("NNCC_FAKE_FAIL", "cudnnGetConvolutionBackwardDataWorkspaceSize:*:3000", 1);
  std::set<std::string> byBackwardDataAlone;
  std::string other = folder / "other.json";
  ours.tuneTraining(Batch(0).inputs(), other);
  unsetenv("NNCC_FAKE_FAIL");
  for (const TunedKernel &kernel : tunedKernels(other))
    if (isDataGradient(kernel) && !kernel.microseconds.contains("cudnn"))
      byBackwardDataAlone.insert(kernel.identity);
  for (bool byBackwardData : {true, false}) {
    rewrite([&](TunedKernel &kernel) {
      for (auto [library, algorithm] : {std::pair("cublasLt", "fa4e 1 0 0 0 0 0 0"),
                                        {"cudnn", isWeightGradient(kernel)                   ? "weight 1"
                                                  : isDataGradient(kernel) && (byBackwardData || byBackwardDataAlone.contains(kernel.identity)) ? "data 1"
                                                                                             : "1"}})
        if (kernel.microseconds.contains(library)) {
          kernel.use = library;
          kernel.algorithm = algorithm;
        }
    });
    Instance theirs = model->trainerTunedBy(path);
    std::vector<double> found = train(theirs, 0, kSteps);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], tolerance * std::abs(expected[i])) << "step " << i;
    for (const CompiledModel::Parameter &parameter : model->parameters()) {
      SCOPED_TRACE(parameter.name);
      std::vector<float> a = valuesOf(ours, parameter.name, parameter.shape), b = valuesOf(theirs, parameter.name, parameter.shape);
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], 20 * tolerance);
    }
    // It is the library that does it: without its function there is no step. A graph would not call it again.
    setenv("NNCC_CUDA_GRAPHS", "0", 1);
    Instance fails = model->trainerTunedBy(path);
    unsetenv("NNCC_CUDA_GRAPHS");
    for (const char *call : {byBackwardData ? "cudnnConvolutionBackwardData" : "cudnnConvolutionForward",
                             "cudnnConvolutionBackwardFilter", "cudnnConvolutionBiasActivationForward", "cublasLtMatmul"}) {
      setenv("NNCC_FAKE_FAIL", (std::string(call) + ":*:5000").c_str(), 1);
      try {
        train(fails, 0, 1);
        ADD_FAILURE() << call << " is not called";
      } catch (const Exception &error) {
        EXPECT_NE(std::string(error.what()).find(std::string(call) + " returned"), std::string::npos) << error.what();
      }
      unsetenv("NNCC_FAKE_FAIL");
    }
  }
}

} // namespace

TEST_F(TuneTraining, LibrariesTrainAsOurKernelsDo) {
  compile(kLinear);
  expectTheSameByLibraries(1e-4);
}

TEST_F(TuneTraining, LibrariesTrainThroughRelus) {
  compile(kRelus);
  expectTheSameByLibraries(1e-4);
}

TEST_F(TuneTraining, LibrariesTrainInHalfPrecision) {
  std::string train = kTrain;
  compile(kRelus, train.insert(train.size() - 2, "  precision = bf16\n"));
  expectTheSameByLibraries(0.02);
}

TEST_F(TuneTraining, ChangesNoParameterAndNoState) {
  compile(kLinear);
  Instance tuned = model->trainer(), other = model->trainer();
  train(tuned, 0, 2);
  train(other, 0, 2);
  std::string before = stateOf(tuned);
  std::vector<double> results = tuned.tuneTraining(Batch(2).inputs(), path);
  EXPECT_EQ(stateOf(tuned), before);
  EXPECT_EQ(results, other.evaluate(Batch(2).inputs()));
  // Random numbers and inference go on as if nothing had been.
  EXPECT_EQ(train(tuned, 2, 5), train(other, 2, 5));
  EXPECT_EQ(stateOf(tuned), stateOf(other));
}

TEST_F(TuneTraining, ChangesNothingWhenItFails) {
  compile(kLinear);
  Instance trainer = model->trainer();
  train(trainer, 0, 1);
  std::string before = stateOf(trainer);
  folder.write("t.json", "{\"format\"");
  EXPECT_THROW(trainer.tuneTraining(Batch(1).inputs(), path), Exception);
  setenv("CUDA_EMULATOR_FAIL", "cuEventElapsedTime:*:999", 1);
  EXPECT_THROW(trainer.tuneTraining(Batch(1).inputs(), folder / "other.json"), Exception);
  unsetenv("CUDA_EMULATOR_FAIL");
  EXPECT_EQ(stateOf(trainer), before);
  EXPECT_EQ(folder.fileCount(), 2u) << "the damaged file and the state";
}

TEST_F(TuneTraining, MeasuresTheKernelsOfBothWays) {
  compile(kLinear);
  Instance trainer = model->trainer();
  trainer.tuneTraining(Batch(0).inputs(), path);
  int weightGradients = 0, dataGradients = 0, products = 0;
  for (const TunedKernel &kernel : tunedKernels(path)) {
    EXPECT_GT(kernel.microseconds.at("nncc"), 0);
    EXPECT_EQ(kernel.dims, (std::map<std::string, int64_t>{{"N", kBatch}}));
    EXPECT_TRUE(kernel.notes.empty()) << kernel.name << ": " << kernel.notes[0];
    weightGradients += isWeightGradient(kernel) && kernel.microseconds.contains("cudnn");
    dataGradients += isDataGradient(kernel) && kernel.microseconds.contains("cudnn");
    products += kernel.name.starts_with("matmul") && kernel.microseconds.contains("cublasLt");
  }
  // Weights but those of the image, whose channels are outermost; data but the image.
  EXPECT_EQ(weightGradients, 4);
  EXPECT_EQ(dataGradients, 4);
  EXPECT_GE(products, 3) << "forward, and both gradients";
}

TEST_F(TuneTraining, MeasuresGradientsWithWhatStandsBehindThem) {
  compile(kRelus);
  Instance trainer = model->trainer();
  trainer.tuneTraining(Batch(0).inputs(), path);
  std::map<std::string, std::string> libraries;
  for (const TunedKernel &kernel : tunedKernels(path)) {
    EXPECT_TRUE(kernel.notes.empty()) << kernel.name << ": " << kernel.notes[0];
    for (const char *library : {"cublasLt", "cudnn"})
      if (kernel.microseconds.contains(library))
        libraries[kernel.name] += std::string(" ") + library;
  }
  EXPECT_EQ(libraries["conv2d_derivative"], " cublasLt cudnn cudnn") << "pointwise, which is a product too, and grouped";
  EXPECT_EQ(libraries["conv2d_add_derivative"], " cudnn");
  EXPECT_EQ(libraries["matmul_derivative"].substr(0, 9), " cublasLt");
}

/// The stand-in refuses addresses that lie otherwise than its function was told.
TEST_F(TuneTraining, TellsLibrariesHowParametersLie) {
  compile(kOdd);
  Instance trainer = model->trainer();
  trainer.tuneTraining(Batch(0).inputs(), path);
  int products = 0;
  for (const TunedKernel &kernel : tunedKernels(path)) {
    EXPECT_TRUE(kernel.notes.empty()) << kernel.name << ": " << kernel.notes[0];
    products += kernel.microseconds.contains("cublasLt");
  }
  EXPECT_GE(products, 3) << "a product of each layer at least";
}

TEST_F(TuneTraining, IsForAnInstanceThatTrains) {
  compile(kLinear);
  Instance infers = model->inferrer();
  EXPECT_THROW(infers.tuneTraining(Batch(0).inputs(), path), Exception);
  CompiledModel onCpu(kLinear + std::string(kTrain), On::Cpu);
  Instance trainer = onCpu.trainer();
  try {
    trainer.tuneTraining(Batch(0).inputs(), path);
    ADD_FAILURE() << "a CPU has nothing to choose from";
  } catch (const Exception &error) {
    EXPECT_STREQ(error.what(), "only a model on a CUDA device can be tuned; use --device=cuda");
  }
}
