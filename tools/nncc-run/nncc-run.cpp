// nncc-run: runs, checks, times and profiles a compiled model. Links the runtime's readers only; a
// model's text is compiled by libnncc_jit.so, which is loaded when it is needed.

#include "runtime/DLPackBridge.h"
#include "runtime/DeviceName.h"
#include "runtime/File.h"
#include "runtime/data/Npy.h"
#include "runtime/TaskPool.h"
#include "tools/nncc-run/Benchmark.h"
#include "tools/nncc-run/Compare.h"
#include "tools/nncc-run/DeviceList.h"
#include "tools/nncc-run/InputSpec.h"
#include "tools/nncc-run/ModelReport.h"
#include "tools/support/Profile.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Guarded.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace nncc;
using namespace nncc::tools;

namespace {

struct Options {
  std::string model;
  ModelOptions loading;
  InputRequest inputs;
  std::vector<std::string> outputs, expected;
  Tolerance tolerance;
  bool listDevices = false, info = false, benchmark = false, profile = false, quiet = false, verbose = false;
  std::string warmup = "200ms", duration = "3s";
  int minIterations = 10;
  std::string trace, json, tune, color = "auto";
};

class Runner {
public:
  explicit Runner(Options options) : options(std::move(options)) {}

  /// Everything that the command line asks for; the exit status when nothing went wrong.
  Result<ExitStatus> run();

private:
  struct FileOfOutput {
    size_t output;
    std::string path;
  };
  Result<std::vector<FileOfOutput>> parseFiles(const std::vector<std::string> &specs,
                                               const char *flag, const nncc_model_info &info) const;
  Result<void> makeOutputs(const nncc_model_info &info);
  Result<ExitStatus> checkOutputs(const std::vector<FileOfOutput> &files,
                                  const nncc_model_info &info);
  Result<void> measure(const Model &model, Instance &instance);
  Result<void> writeJson() const;
  void say(const std::string &text) const {
    if (!options.quiet)
      fmt::print("{}", text);
  }

  Options options;
  std::vector<rt::HostTensor> inputs, outputs;
  nlohmann::json report = nlohmann::json::object();
};

std::optional<double> parseSeconds(const std::string &text) {
  double value = 0;
  size_t end = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception &) {
    return std::nullopt;
  }
  std::string unit = text.substr(end);
  double factor = unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : unit == "s" || unit.empty() ? 1 : -1;
  return !(value >= 0 && std::isfinite(value)) || factor < 0 ? std::nullopt : std::optional(value * factor);
}

Result<std::vector<Runner::FileOfOutput>> Runner::parseFiles(const std::vector<std::string> &specs,
                                                             const char *flag,
                                                             const nncc_model_info &info) const {
  std::vector<FileOfOutput> files;
  for (const std::string &spec : specs) {
    size_t equals = spec.find("=@");
    if (equals == std::string::npos || equals + 2 == spec.size())
      return userError(fmt::format("{} {}: expected NAME=@file.npy", flag, spec));
    std::string name = spec.substr(0, equals), known;
    size_t index = 0;
    for (; index < info.output_count && name != info.outputs[index].name; ++index)
      known += fmt::format("\n  {}: {}", info.outputs[index].name, info.outputs[index].type_text);
    if (index == info.output_count)
      return userError(
          fmt::format("{} {}: the model has no output '{}'; it has{}", flag, spec, name, known));
    files.push_back({index, spec.substr(equals + 2)});
  }
  return files;
}

Result<void> Runner::makeOutputs(const nncc_model_info &info) {
  std::vector<int64_t> dims = dimsOf(info, inputs);
  for (size_t i = 0; i < info.output_count; ++i) {
    std::optional<DType> dtype = rt::fromDLDataType(info.outputs[i].dtype);
    auto shape = shapeFor(info, info.outputs[i], dims);
    if (!dtype || !shape)
      return userError(fmt::format("output '{}' ({}) is too large for these dims",
                                   info.outputs[i].name, info.outputs[i].type_text));
    int64_t bytes = sizeBytesOf(*dtype);
    for (int64_t extent : *shape)
      bytes *= extent;
    outputs.push_back({*dtype, *shape, std::vector<std::byte>(bytes)});
  }
  return {};
}

Result<ExitStatus> Runner::checkOutputs(const std::vector<FileOfOutput> &files,
                                        const nncc_model_info &info) {
  ExitStatus status = kDone;
  for (const FileOfOutput &file : files) {
    auto expected = data::readNpy(file.path);
    if (!expected)
      return expected.error();
    const char *name = info.outputs[file.output].name;
    auto comparison = compare(name, outputs[file.output], *expected, options.tolerance);
    if (!comparison)
      return comparison.error();
    report["comparisons"].push_back({{"output", name},
                                     {"matches", comparison->matches},
                                     {"max_abs_error", comparison->maxAbsError},
                                     {"max_rel_error", comparison->maxRelError}});
    if (comparison->matches) {
      say(comparison->report + "\n");
    } else {
      fmt::print(stderr, "{}\n", comparison->report);
      status = kMismatch;
    }
  }
  return status;
}

Result<void> Runner::measure(const Model &model, Instance &instance) {
  auto warmup = parseSeconds(options.warmup), duration = parseSeconds(options.duration);
  if (!warmup || !duration)
    return userError("--warmup and --duration take a time such as 200ms or 3s");
  std::vector<DLTensor> in, out;
  for (rt::HostTensor &tensor : inputs)
    in.push_back(describe(tensor));
  for (rt::HostTensor &tensor : outputs)
    out.push_back(describe(tensor));
  const nncc_model_info &info = model.info();
  bool onCuda = std::string_view(info.target) == "cuda";
  int threads = onCuda                        ? 0
                : options.loading.threads > 0 ? options.loading.threads
                                              : rt::usableCoreCount();
  std::string where = onCuda ? fmt::format("{} ({})", info.target, info.cpu_level)
                             : fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");

  if (options.benchmark) {
    auto result =
        runBenchmark(instance, in, out, threads, {*warmup, *duration, options.minIterations});
    if (!result)
      return result.error();
    result->where = where;
    bool hasBatch = !inputs.empty() && !inputs[0].shape.empty();
    int64_t batch = hasBatch ? inputs[0].shape[0] : 1;
    say(fmt::format("{}, batch {}\n{}", info.name, batch, renderBenchmark(*result, batch)));
    report["benchmark"] = toJson(*result);
  }
  if (options.profile || !options.trace.empty()) {
    auto result =
        runProfile(model, instance, in, out, threads, {*warmup, *duration, options.minIterations});
    if (!result)
      return result.error();
    result->where = where;
    if (options.profile)
      say(renderProfile(info, *result));
    report["profile"] = toJson(info, *result);
    if (!options.trace.empty()) {
      if (auto written = rt::writeFileAtomically(options.trace, renderTrace(info, *result));
          !written)
        return written.error();
    }
  }
  return {};
}

Result<void> Runner::writeJson() const {
  return options.json.empty() ? Result<void>()
                              : rt::writeFileAtomically(options.json, report.dump(2) + "\n");
}

Result<ExitStatus> Runner::run() {
  if (options.listDevices) {
    say(renderDevices());
    report["devices"] = devicesToJson();
    if (options.model.empty()) {
      auto written = writeJson();
      return written ? Result<ExitStatus>(kDone) : written.error();
    }
  }
  options.loading.log = [quiet = options.quiet, verbose = options.verbose](const std::string &text) {
    bool isWarning = text.starts_with("warning: ");
    if (isWarning ? !quiet : verbose)
      fmt::print(stderr, "{}{}\n", isWarning ? "" : "nncc-run: ", text);
  };
  bool measuring = options.benchmark || options.profile || !options.trace.empty() || !options.tune.empty();
  options.loading.infoOnly = options.info && !measuring && options.inputs.inputs.empty();
  options.inputs.randomWhenMissing = measuring;
  ModelOptions loading = options.loading;
  loading.compilesTiles = !options.tune.empty() || !loading.tuning.empty();
  auto model = Model::open(options.model, loading);
  if (!model)
    return model.error();
  const nncc_model_info &info = model->info();
  if (options.info) {
    say(renderInfo(info));
    report["model"] = toJson(info);
  }
  if (options.loading.infoOnly) {
    if (auto written = writeJson(); !written)
      return written.error();
    return kDone;
  }

  auto outputFiles = parseFiles(options.outputs, "--output", info);
  if (!outputFiles)
    return outputFiles.error();
  auto expectedFiles = parseFiles(options.expected, "--expect", info);
  if (!expectedFiles)
    return expectedFiles.error();
  auto made = makeInputs(info, options.inputs);
  if (!made)
    return made.error();
  inputs = std::move(*made);
  if (auto sized = makeOutputs(info); !sized)
    return sized.error();

  auto instance = Instance::create(*model, options.loading.threads);
  if (!instance)
    return instance.error();
  std::vector<DLTensor> in, out;
  for (rt::HostTensor &tensor : inputs)
    in.push_back(describe(tensor));
  for (rt::HostTensor &tensor : outputs)
    out.push_back(describe(tensor));
  auto ran = options.tune.empty() ? instance->run(in, out) : instance->tune(in, out, options.tune);
  if (!ran)
    return ran.error();
  if (!options.tune.empty())
    say(fmt::format("tuned; {} has the choices (--tuning={})\n", options.tune, options.tune));

  for (const FileOfOutput &file : *outputFiles)
    if (auto written = data::writeNpy(file.path, outputs[file.output].dtype,
                                    outputs[file.output].shape, outputs[file.output].data.data());
        !written)
      return written.error();
  if (outputFiles->empty() && expectedFiles->empty() && !measuring)
    for (size_t i = 0; i < outputs.size(); ++i)
      say(renderTensor(info.outputs[i].name, outputs[i]));
  auto status = checkOutputs(*expectedFiles, info);
  if (!status)
    return status.error();
  if (measuring)
    if (auto measured = measure(*model, *instance); !measured)
      return measured.error();
  if (auto written = writeJson(); !written)
    return written.error();
  return status;
}

/// What is wrong with a tolerance; CLI11 knows ranges, but prints their far end.
std::string checkTolerance(const std::string &text) {
  return std::strtod(text.c_str(), nullptr) >= 0 ? "" : "expected a number >= 0, found " + text;
}

std::string checkDevice(const std::string &text) {
  return rt::parseDeviceName(text) ? "" : rt::unknownDevice(text).message;
}

void addOptions(CLI::App &app, Options &options) {
  app.set_version_flag("--version", "nncc-run " NNCC_VERSION);
  app.add_option("MODEL", options.model, "A compiled model (.so) or a model's text (.nn)");
  app.add_option("--input", options.inputs.inputs, kInputSyntax)
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--output", options.outputs, "Write an output")
      ->type_name("NAME=@y.npy")
      ->allow_extra_args(false);
  app.add_option("--expect", options.expected, "Compare an output; exit status 3 if it differs")
      ->type_name("NAME=@y.npy")
      ->allow_extra_args(false);
  app.add_option("--rtol", options.tolerance.relative, "Relative tolerance of --expect")
      ->capture_default_str()
      ->check(checkTolerance);
  app.add_option("--atol", options.tolerance.absolute, "Absolute tolerance of --expect")
      ->capture_default_str()
      ->check(checkTolerance);
  app.add_option("--weights", options.loading.weights, "A safetensors file with the weights");
  app.add_option("--tune", options.tune,
                 "CUDA: measure, for the dims of this run, which kernels are faster in another tile (of a .so that nncc --tiles made, or a text) "
                 "or done by cuBLASLt and cuDNN, and add that to the file")
      ->type_name("FILE.json");
  app.add_option("--tuning", options.loading.tuning,
                 "CUDA: use the tiles and libraries that this file names; by default the one that the model brings along")
      ->type_name("FILE.json");
  app.add_flag("--require-tuning", options.loading.tuningRequired,
               "Fail where the tuning file does not fit the device, its libraries, the model or the dims");
  app.add_option("--seed", options.loading.seed,
                 "Seed of the parameters of a model's text without weights");
  app.add_option("--device", options.loading.device,
                 "Where to run: cpu, cuda or cuda:N; by default the CPU where the model has code for "
                 "it")
      ->check(checkDevice);
  app.add_flag("--list-devices", options.listDevices,
               "Show the devices of this machine and the CUDA libraries, without a model");
  app.add_option("--threads", options.loading.threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, 1024));
  app.add_option("--dim", options.inputs.dims, "The value of a named dim, for random inputs")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--batch", options.inputs.batch, "The leading dim of the first input")
      ->check(CLI::PositiveNumber);
  app.add_flag("--info", options.info, "Describe the model");
  app.add_flag("--benchmark", options.benchmark, "Time runs; inputs that are not given are random");
  app.add_option("--warmup", options.warmup, "Time before measurements")->capture_default_str();
  app.add_option("--duration", options.duration, "Time of a measurement")->capture_default_str();
  app.add_option("--min-iters", options.minIterations, "Runs of a measurement at least")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_flag("--profile", options.profile, "Table of the time of each kernel");
  app.add_option("--trace", options.trace, "Trace of some runs for ui.perfetto.dev")
      ->type_name("FILE.json");
  app.add_option("--json", options.json, "Results for programs")->type_name("FILE.json");
  app.add_option("--color", options.color, "Colour of messages")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("-q", options.quiet, "Print errors only");
  app.add_flag("-v", options.verbose, "Print more");
}

bool isColored(const std::string &color) {
  return color == "always" || (color == "auto" && isatty(STDERR_FILENO) && !getenv("NO_COLOR"));
}

/// The run, and what it printed on its way to standard output.
Result<ExitStatus> runGuarded(Options options) {
  return guarded([&]() -> Result<ExitStatus> {
    Result<ExitStatus> result = Runner(std::move(options)).run();
    if (std::fflush(stdout) != 0 && result)
      return userError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    return result;
  });
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Runs, checks, times and profiles a compiled model.", "nncc-run");
  Options options;
  addOptions(app, options);
  try {
    app.parse(argc, argv);
    if (options.model.empty() && !options.listDevices)
      throw CLI::RequiredError("MODEL");
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  bool colored = isColored(options.color);
  std::signal(SIGXFSZ, SIG_IGN); // a write beyond the limit on file sizes then fails with EFBIG
  Result<ExitStatus> result = runGuarded(std::move(options));
  if (result)
    return *result;
  printError(result.error().message, colored);
  return exitStatusOf(result.error().kind);
}
