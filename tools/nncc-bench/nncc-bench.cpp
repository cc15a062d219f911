// nncc-bench: how fast nncc's code is on this machine, as a share of the multiply-add peak that is
// measured in the same run. Kernels, whole networks, the compiler, and loading, or training steps;
// one table each.

#include "tools/nncc-bench/Cases.h"
#include "tools/nncc-bench/Training.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/MachinePeak.h"
#include "tools/support/Model.h"
#include "tools/support/Statistics.h"
#include "tools/support/TextTable.h"
#include "tools/support/Units.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <random>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace nncc;
using namespace nncc::tools;
using enum TextTable::Align;
using Clock = std::chrono::steady_clock;

extern char **environ;

namespace {

struct Options {
  std::vector<std::string> only;
  std::vector<int> threads = {1, 2};
  double seconds = 1;
  std::string examples = NNCC_EXAMPLES_DIR;
  bool train = false, profile = false;
  std::string python, model;
};

double nsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Inputs and outputs of a model whose named dims are at their smallest.
class Tensors {
public:
  explicit Tensors(const nncc_model_info &info) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < info.input_count; ++i) {
      add(info, info.inputs[i], inputs);
      if (info.inputs[i].dtype.code == kDLFloat && info.inputs[i].dtype.bits == 32)
        for (size_t e = 0; e < storage.back().size() / sizeof(float); ++e)
          reinterpret_cast<float *>(storage.back().data())[e] = normal(engine);
    }
    for (size_t i = 0; i < info.output_count; ++i)
      add(info, info.outputs[i], outputs);
  }

  std::vector<DLTensor> inputs, outputs;

private:
  /// In these models a dim that depends on named ones is such a dim.
  static int64_t extentOf(const nncc_model_info &info, const nncc_extent &extent) {
    for (size_t i = 0; i < info.dim_count; ++i)
      if (extent.value < 0 && std::string_view(extent.text) == info.dims[i].name)
        return info.dims[i].min;
    return std::max<int64_t>(extent.value, 1);
  }

  void add(const nncc_model_info &info, const nncc_tensor_info &tensor,
           std::vector<DLTensor> &list) {
    std::vector<int64_t> &shape = shapes.emplace_back();
    int64_t bytes = tensor.dtype.bits / 8;
    for (int32_t d = 0; d < tensor.rank; ++d) {
      shape.push_back(extentOf(info, tensor.shape[d]));
      bytes *= shape.back();
    }
    DLTensor described{};
    described.data = storage.emplace_back(bytes).data();
    described.device = {kDLCPU, 0};
    described.ndim = tensor.rank;
    described.dtype = tensor.dtype;
    described.shape = shape.data();
    list.push_back(described);
  }

  std::vector<std::vector<char>> storage;
  std::deque<std::vector<int64_t>> shapes; // keeps addresses
};

struct Timing {
  double runNs = 0;    ///< median of whole runs
  double kernelNs = 0; ///< median of the step that computes most
  double runFlops = 0, kernelFlops = 0;
  double peakGflops = 0;
};

/// Runs and samples of the peak by turns, for about `seconds`.
Result<Timing> timeModel(const Model &model, int threads, double seconds) {
  auto instance = Instance::create(model, threads);
  if (!instance)
    return instance.error();
  Tensors tensors(model.info());
  auto run = [&] { return instance->run(tensors.inputs, tensors.outputs); };
  if (auto on = instance->setProfiling(true); !on)
    return on.error();
  if (auto ran = run(); !ran)
    return ran.error();
  auto steps = instance->profile();
  if (!steps)
    return steps.error();
  Timing timing;
  size_t heaviest = 0;
  for (size_t i = 0; i < steps->size(); ++i) {
    timing.runFlops += double((*steps)[i].flops);
    if ((*steps)[i].flops > (*steps)[heaviest].flops)
      heaviest = i;
  }
  timing.kernelFlops = steps->empty() ? 0 : double((*steps)[heaviest].flops);

  constexpr double kWarmupNs = 100e6, kPeakEveryNs = 50e6;
  for (auto start = Clock::now(); nsSince(start) < kWarmupNs;)
    if (auto ran = run(); !ran)
      return ran.error();
  MachinePeak peak(threads);
  std::vector<double> runs, kernels;
  auto start = Clock::now(), lastPeak = start;
  peak.sample();
  while (runs.size() < 10 || nsSince(start) < seconds * 1e9) {
    if (nsSince(lastPeak) > kPeakEveryNs) {
      peak.sample();
      lastPeak = Clock::now();
    }
    auto before = Clock::now();
    if (auto ran = run(); !ran)
      return ran.error();
    runs.push_back(nsSince(before));
    auto profile = instance->profile();
    if (!profile)
      return profile.error();
    if (!profile->empty())
      kernels.push_back(double((*profile)[heaviest].last_ns));
  }
  timing.runNs = median(runs);
  timing.kernelNs = median(kernels);
  timing.peakGflops = peak.gflops();
  return timing;
}

/// Runs a program to its end; its standard output is dropped.
bool runProgram(const std::vector<std::string> &arguments) {
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child;
  int status = 0;
  return posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ) == 0 &&
         waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class Bench {
public:
  explicit Bench(Options options) : options(std::move(options)) {}

  Result<void> run() {
    fmt::print("nncc-bench " NNCC_VERSION ", {} vectors\n", MachinePeak::instructionSet());
    if (options.train)
      return benchmarkTraining({options.examples, options.python, options.threads.front(),
                                options.seconds, options.profile, options.model});
    if (wants("conv") || wants("gemm") || wants("depthwise") || wants("other"))
      if (auto done = kernels(); !done)
        return done;
    if (wants("resnet50"))
      if (auto done = network("resnet50"); !done)
        return done;
    if (wants("compile") || wants("load"))
      return compileAndLoad();
    return {};
  }

private:
  bool wants(const std::string &group) const {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), group) != options.only.end();
  }

  Result<void> kernels() {
    int threads = options.threads.front();
    TextTable table(
        {{"group", Left}, {"kernel", Left}, {"time"}, {"GFLOP/s"}, {"peak"}, {"share"}, {"goal"}});
    for (const BenchmarkCase &benchmark : benchmarkCases()) {
      if (!wants(benchmark.group))
        continue;
      ModelOptions loading;
      loading.text = benchmark.text;
      auto model = Model::open("bench.nn", loading);
      if (!model)
        return model.error();
      auto timing = timeModel(*model, threads, options.seconds);
      if (!timing)
        return timing.error();
      // A network of several products is measured whole, a single layer without what stands around
      // it.
      bool isWhole = timing->runFlops > 1.5 * timing->kernelFlops;
      double ns = isWhole ? timing->runNs : timing->kernelNs;
      double rate = (isWhole ? timing->runFlops : timing->kernelFlops) / ns;
      bool hasGoal = benchmark.goal > 0;
      table.addRow({benchmark.group, benchmark.name, formatDuration(ns),
                    hasGoal ? formatFixed(rate, 1) : "",
                    hasGoal ? formatFixed(timing->peakGflops, 1) : "",
                    hasGoal ? formatShare(rate / timing->peakGflops) : "",
                    hasGoal ? formatShare(benchmark.goal) : ""});
    }
    fmt::print("\nKernels, {} thread{}\n{}", threads, threads == 1 ? "" : "s", table.render(2));
    return {};
  }

  Result<void> network(const std::string &name) {
    auto model = Model::open(options.examples + "/" + name + ".nn", {});
    if (!model)
      return model.error();
    TextTable table({{"threads"}, {"time"}, {"GFLOP/s"}, {"peak"}, {"share"}, {"speed-up"}});
    double single = 0;
    for (int threads : options.threads) {
      auto timing = timeModel(*model, threads, std::max(options.seconds, 3.0));
      if (!timing)
        return timing.error();
      double rate = timing->runFlops / timing->runNs;
      single = single ? single : timing->runNs;
      table.addRow({std::to_string(threads), formatDuration(timing->runNs), formatFixed(rate, 1),
                    formatFixed(timing->peakGflops, 1), formatShare(rate / timing->peakGflops),
                    formatFixed(single / timing->runNs, 2)});
    }
    fmt::print("\n{}, batch 1\n{}", name, table.render(2));
    return {};
  }

  /// Time of nncc as a program, and of a shared object from dlopen to the first answer.
  Result<void> compileAndLoad() {
    std::error_code code;
    auto self = std::filesystem::read_symlink("/proc/self/exe", code);
    auto folder = std::filesystem::temp_directory_path(code) /
                  fmt::format("nncc-bench-{}", static_cast<int>(getpid()));
    if (!std::filesystem::create_directory(folder, code))
      return environmentError("cannot create " + folder.string() + ": " + code.message());
    Result<void> result = compileAndLoadIn(folder, self.parent_path() / "nncc");
    std::filesystem::remove_all(folder, code);
    return result;
  }

  Result<void> compileAndLoadIn(const std::filesystem::path &folder,
                                const std::filesystem::path &nncc) {
    TextTable table({{"model", Left},
                     {"compile"},
                     {"size"},
                     {"load"},
                     {"first run"},
                     {"warm run"},
                     {"load + first - warm"}});
    for (const char *name : {"lenet", "resnet50"}) {
      std::string library = (folder / name).string() + ".so";
      auto start = Clock::now();
      if (!runProgram({nncc, options.examples + "/" + name + ".nn", "-o", library}))
        return environmentError(fmt::format("{} could not compile {}.nn", nncc.string(), name));
      double compileNs = nsSince(start);

      start = Clock::now();
      ModelOptions loading;
      loading.threads = 1;
      auto model = Model::open(library, loading);
      if (!model)
        return model.error();
      auto instance = Instance::create(*model, 1);
      if (!instance)
        return instance.error();
      double loadNs = nsSince(start);
      Tensors tensors(model->info());
      start = Clock::now();
      if (auto ran = instance->run(tensors.inputs, tensors.outputs); !ran)
        return ran.error();
      double firstNs = nsSince(start);
      std::vector<double> warm;
      for (int i = 0; i < 10; ++i) {
        start = Clock::now();
        if (auto ran = instance->run(tensors.inputs, tensors.outputs); !ran)
          return ran.error();
        warm.push_back(nsSince(start));
      }
      std::error_code code;
      double bytes = 0;
      for (const auto &file : std::filesystem::directory_iterator(folder, code))
        if (file.path().stem() == name)
          bytes += double(file.file_size(code));
      table.addRow({name, formatDuration(compileNs), formatBytes(bytes), formatDuration(loadNs),
                    formatDuration(firstNs), formatDuration(median(warm)),
                    formatDuration(loadNs + firstNs - median(warm))});
    }
    fmt::print("\nCompiling and loading, 1 thread, files in the page cache\n{}", table.render(2));
    return {};
  }

  Options options;
};

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Measures nncc on this machine, as shares of its multiply-add peak.", "nncc-bench");
  Options options;
  app.set_version_flag("--version", "nncc-bench " NNCC_VERSION);
  app.add_option("--only", options.only, "Groups to measure")
      ->delimiter(',')
      ->check(CLI::IsMember({"conv", "gemm", "depthwise", "other", "resnet50", "compile", "load"}));
  app.add_option("--threads", options.threads, "Thread counts; kernels use the first")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Time of each measurement")->capture_default_str();
  app.add_option("--examples", options.examples, "Folder of resnet50.nn and lenet.nn")
      ->capture_default_str();
  auto *train = app.add_flag("--train", options.train, "Measure training steps instead");
  app.add_flag("--profile", options.profile, "Print the kernels of each step too")->needs(train);
  app.add_option("--torch", options.python, "A Python with PyTorch, whose steps are measured too")
      ->needs(train);
  app.add_option("--model", options.model, "Only models with this in their name")->needs(train);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (Result<void> result = Bench(std::move(options)).run(); !result) {
    fmt::print(stderr, "nncc-bench: error: {}\n", result.error().message);
    return exitStatusOf(result.error().kind);
  }
  return kDone;
}
