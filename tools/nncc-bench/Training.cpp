// Measures training steps; see Training.h.

#include "tools/nncc-bench/Training.h"

#include "tools/nncc-bench/TorchSteps.h"
#include "tools/support/MachinePeak.h"
#include "tools/support/Model.h"
#include "tools/support/Profile.h"
#include "tools/support/Statistics.h"
#include "tools/support/TextTable.h"
#include "tools/support/Units.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

using namespace nncc;
using namespace nncc::tools;
using enum TextTable::Align;
using Clock = std::chrono::steady_clock;

namespace {

struct TrainingCase {
  const char *model; ///< a file of examples/, and the name of the same in torch_steps.py
  int batch;
};

constexpr TrainingCase kCases[] = {{"simple_net_mnist", 64}, {"simple_cnn_cifar10", 4}, {"simple_cnn_cifar10", 64},
                                   {"lenet", 64},            {"char_transformer", 32},  {"resnet20", 32},
                                   {"resnet50", 8}};

/// The usual residual network for CIFAR-10 (He et al., 2015), three blocks a stage.
constexpr const char *kResNet20 = R"(nn 1
dim N = 1..1024
block Basic(x, channels, stride) {
  y = conv2d(x, channels, kernel = 3, stride = stride, padding = 1, bias = false) as conv1
  y = relu(batch_norm(y) as bn1)
  y = conv2d(y, channels, kernel = 3, padding = 1, bias = false) as conv2
  y = batch_norm(y) as bn2
  if stride != 1 or x.shape[1] != channels {
    x = conv2d(x, channels, kernel = 1, stride = stride, bias = false) as shortcut
    x = batch_norm(x) as shortcut_bn
  }
  return relu(y + x)
}
block Stage(x, channels, stride) {
  x = Basic(x, channels, stride) as 0
  x = Basic(x, channels, 1) as 1
  x = Basic(x, channels, 1) as 2
  return x
}
model ResNet20(image: f32[N, 3, 32, 32]) {
  x = conv2d(image, 16, kernel = 3, padding = 1, bias = false) as conv
  x = relu(batch_norm(x) as bn)
  x = Stage(x, 16, 1) as stage1
  x = Stage(x, 32, 2) as stage2
  x = Stage(x, 64, 2) as stage3
  logits = linear(flatten(adaptive_avg_pool2d(x, 1)), 10) as fc
  return logits
}
)";

/// For models that have none of their own.
constexpr const char *kTrainSection = R"(
train {
  target label: i64[N]
  loss = cross_entropy(logits, label)
  optimizer = sgd(lr = 0.1, momentum = 0.9, weight_decay = 1e-4)
  batch = 8
  epochs = 1
}
)";

Result<std::string> textOf(const std::string &model, const std::string &examples) {
  std::string text = kResNet20;
  if (model != "resnet20") {
    std::string path = examples + "/" + model + ".nn";
    std::ifstream file(path);
    std::ostringstream contents;
    contents << file.rdbuf();
    if (!file)
      return environmentError("cannot read " + path);
    text = contents.str();
  }
  return text.find("\ntrain {") == text.npos ? text + kTrainSection : text;
}

/// One fixed batch of numbers and labels.
class Batch {
public:
  Batch(const nncc_model_info &info, int64_t size) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < info.train_input_count; ++i) {
      const nncc_tensor_info &tensor = info.train_inputs[i];
      std::vector<int64_t> &shape = shapes.emplace_back();
      int64_t elements = 1;
      for (int32_t d = 0; d < tensor.rank; ++d) {
        // In these models every named dim is the batch.
        shape.push_back(tensor.shape[d].value < 0 ? size : tensor.shape[d].value);
        elements *= shape.back();
      }
      std::vector<char> &bytes = storage.emplace_back(elements * tensor.dtype.bits / 8);
      int64_t classes = info.train_ranges[i].is_limited ? info.train_ranges[i].greatest + 1 : 1;
      for (int64_t e = 0; e < elements; ++e)
        if (tensor.dtype.code == kDLFloat)
          reinterpret_cast<float *>(bytes.data())[e] = normal(engine);
        else
          reinterpret_cast<int64_t *>(bytes.data())[e] = static_cast<int64_t>(engine() % classes);
      DLTensor view{};
      view.data = bytes.data();
      view.device = {kDLCPU, 0};
      view.ndim = tensor.rank;
      view.dtype = tensor.dtype;
      view.shape = shape.data();
      tensors.push_back(view);
    }
  }

  std::vector<DLTensor> tensors;

private:
  std::deque<std::vector<int64_t>> shapes; // keeps addresses
  std::deque<std::vector<char>> storage;
};

double nsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Where the time of a step goes, kernel by kernel.
Result<void> printProfile(const Model &model, Instance &instance, Batch &batch, const TrainingBenchmark &benchmark) {
  if (auto on = instance.setProfiling(true); !on)
    return on.error();
  MachinePeak peak(benchmark.threads);
  for (auto start = Clock::now(); nsSince(start) < benchmark.seconds * 1e9;) {
    peak.sample();
    if (auto stepped = instance.trainStep(batch.tensors); !stepped)
      return stepped.error();
  }
  auto steps = instance.trainStepProfile();
  if (!steps)
    return steps.error();
  ProfileResult result;
  result.steps = std::move(*steps);
  result.peakGflops = peak.gflops();
  result.where = fmt::format("{} thread{}", benchmark.threads, benchmark.threads == 1 ? "" : "s");
  fmt::print("\n{}", renderProfile(model.info(), result));
  return instance.setProfiling(false);
}

struct StepTiming {
  double ns = 0, torchNs = 0, flops = 0, peakGflops = 0;
};

/// Our step, PyTorch's and the peak by turns.
Result<StepTiming> timeStep(const TrainingCase &test, const TrainingBenchmark &benchmark) {
  auto text = textOf(test.model, benchmark.examples);
  if (!text)
    return text.error();
  ModelOptions loading;
  loading.text = *text;
  loading.training = true;
  loading.threads = benchmark.threads;
  auto model = Model::open(std::string(test.model) + ".nn", loading);
  if (!model)
    return model.error();
  auto instance = Instance::create(*model, benchmark.threads, /*trains=*/true);
  if (!instance)
    return instance.error();
  std::optional<TorchSteps> torch;
  if (!benchmark.python.empty()) {
    auto started = TorchSteps::start(benchmark.python, test.model, test.batch, benchmark.threads);
    if (!started)
      return started.error();
    torch.emplace(std::move(*started));
  }
  Batch batch(model->info(), test.batch);
  StepTiming timing;
  if (auto on = instance->setProfiling(true); !on)
    return on.error();
  for (int i = 0; i < 3; ++i)
    if (auto stepped = instance->trainStep(batch.tensors); !stepped)
      return stepped.error();
  auto steps = instance->trainStepProfile();
  if (!steps)
    return steps.error();
  for (const nncc_step_profile &step : *steps)
    timing.flops += double(step.flops);
  if (auto off = instance->setProfiling(false); !off)
    return off.error();
  if (benchmark.profile)
    if (auto profiled = printProfile(*model, *instance, batch, benchmark); !profiled)
      return profiled.error();

  constexpr size_t kLeastSteps = 5;
  MachinePeak peak(benchmark.threads);
  std::vector<double> times, torchTimes;
  for (auto start = Clock::now(); times.size() < kLeastSteps || nsSince(start) < benchmark.seconds * 1e9;) {
    peak.sample();
    // Short steps come several at a time: the first after another program finds cold caches.
    double spentNs = 0, torchSpentNs = 0;
    constexpr double kTurnNs = 20e6;
    do {
      auto before = Clock::now();
      if (auto stepped = instance->trainStep(batch.tensors); !stepped)
        return stepped.error();
      times.push_back(nsSince(before));
      spentNs += times.back();
    } while (spentNs < kTurnNs);
    while (torch && torchSpentNs < kTurnNs) {
      auto ns = torch->stepNs();
      if (!ns)
        return ns.error();
      torchTimes.push_back(*ns);
      torchSpentNs += *ns;
    }
  }
  timing.ns = median(times);
  timing.torchNs = median(torchTimes);
  timing.peakGflops = peak.gflops();
  return timing;
}

} // namespace

Result<void> nncc::tools::benchmarkTraining(const TrainingBenchmark &benchmark) {
  bool hasTorch = !benchmark.python.empty();
  std::vector<TextTable::Column> columns = {{"model", Left}, {"batch"}, {"step"}, {"GFLOP/s"}, {"peak"}, {"share"}};
  if (hasTorch) {
    columns.push_back({"PyTorch"});
    columns.push_back({"nncc / PyTorch"});
  }
  TextTable table(columns);
  for (const TrainingCase &test : kCases) {
    if (std::string_view(test.model).find(benchmark.only) == std::string_view::npos)
      continue;
    auto timing = timeStep(test, benchmark);
    if (!timing)
      return timing.error();
    double rate = timing->flops / timing->ns;
    std::vector<std::string> row = {test.model,
                                    std::to_string(test.batch),
                                    formatDuration(timing->ns),
                                    formatFixed(rate, 1),
                                    formatFixed(timing->peakGflops, 1),
                                    formatShare(rate / timing->peakGflops)};
    if (hasTorch) {
      row.push_back(formatDuration(timing->torchNs));
      row.push_back(formatFixed(timing->ns / timing->torchNs, 2));
    }
    table.addRow(row);
  }
  fmt::print("\nTraining steps, {} thread{}\n{}", benchmark.threads, benchmark.threads == 1 ? "" : "s", table.render(2));
  return {};
}
