// nncc-bench-cuda: the times that need no GPU. How long NVRTC takes for the kernels of a network, with an empty kernel cache and from
// the cache, and how fast the stand-in driver of tools/cuda-emulator translates and executes kernels; each beside its goal.
//
// Every compilation runs in a process of its own, which begins with loading NVRTC, as the first run of a model does.

#include "codegen/cuda/DeviceHeader.h"
#include "driver/ImportModel.h"
#include "driver/Stages.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/KernelLoader.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Statistics.h"
#include "tools/support/TextTable.h"
#include "tools/support/Units.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace nncc;
using namespace nncc::tools;
using namespace nncc::rt::cuda;
using enum TextTable::Align;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
  int threads = 2;
  std::string architecture = "compute_80";
  std::string examples = NNCC_EXAMPLES_DIR;
};

double nsSince(Clock::time_point start) { return std::chrono::duration<double, std::nano>(Clock::now() - start).count(); }

/// A square product of f32, large enough that launching it does not count.
constexpr int kGemmSize = 512;
std::string gemmText() {
  return fmt::format("nn 1\nmodel Gemm(a: f32[{0}, {0}], b: f32[{0}, {0}]) {{\n  return y = matmul(a, b)\n}}\n", kGemmSize);
}

Result<driver::CudaProgram> build(const std::string &path, std::optional<std::string> text = std::nullopt) {
  auto context = driver::createContext();
  driver::ModelSource source;
  source.path = path;
  source.text = std::move(text);
  auto imported = driver::importModel(*context, source);
  if (!imported)
    return imported.error();
  if (auto ran = driver::runPasses(*imported->module, driver::cudaPacking(), {}); !ran)
    return ran.error();
  auto compiled = driver::buildCudaProgram(*imported->module, {});
  if (!compiled)
    return compiled.error();
  for (codegen::cuda::CudaSource &kernel : compiled->sources)
    kernel.product.reset(); // refers to the context
  return compiled;
}

/// Loads NVRTC and compiles; several threads.
Result<CompiledKernels> compile(const driver::CudaProgram &model, const Options &options) {
  auto nvrtc = Nvrtc::get();
  if (!nvrtc)
    return nvrtc.error();
  std::vector<KernelSource> sources;
  for (const codegen::cuda::CudaSource &kernel : model.sources)
    sources.push_back({kernel.symbol.c_str(), kernel.text.c_str()});
  return compileKernels(**nvrtc, codegen::cuda::deviceHeader().str(), sources, options.architecture, options.threads);
}

/// The time of compile() in a child process.
Result<double> timeCompilation(const driver::CudaProgram &model, const Options &options) {
  int ends[2];
  if (pipe(ends) != 0)
    return environmentError("no pipe to measure through");
  pid_t child = fork();
  if (child == 0) {
    auto start = Clock::now();
    auto compiled = compile(model, options);
    double ns = nsSince(start);
    if (!compiled)
      fmt::print(stderr, "nncc-bench-cuda: {}\n", compiled.error().message);
    _exit(compiled && write(ends[1], &ns, sizeof ns) == sizeof ns ? 0 : 1);
  }
  close(ends[1]);
  double ns = 0;
  bool isRead = child > 0 && read(ends[0], &ns, sizeof ns) == sizeof ns;
  close(ends[0]);
  if (child > 0)
    waitpid(child, nullptr, 0);
  return isRead ? Result<double>(ns) : environmentError("the kernels could not be compiled");
}

class Bench {
public:
  explicit Bench(Options options) : options(std::move(options)) {}

  Result<void> run() {
    if (auto done = compilation(); !done)
      return done;
    return execution();
  }

  std::string render() const { return table.render(2); }

private:
  Result<void> compilation() {
    struct Goal {
      const char *model;
      double coldNs, cachedNs; ///< 0: none
    };
    for (const Goal &goal : {Goal{"lenet", 1.5e9, 50e6}, Goal{"resnet50", 15e9, 0}}) {
      auto model = build(options.examples + "/" + goal.model + ".nn");
      if (!model)
        return model.error();
      std::string what = fmt::format("NVRTC, {} ({} kernels)", goal.model, model->sources.size());
      auto cold = timeCompilation(*model, options);
      if (!cold)
        return cold.error();
      addTime(what + ", empty cache", *cold, goal.coldNs);
      std::vector<double> times;
      for (int i = 0; i < 5; ++i) {
        auto cached = timeCompilation(*model, options);
        if (!cached)
          return cached.error();
        times.push_back(*cached);
      }
      addTime(what + ", from the cache", median(times), goal.cachedNs);
    }
    return {};
  }

  Result<void> execution() {
    auto device = Device::open(0);
    if (!device)
      return device.error();
    auto scope = (*device)->enter();
    if (!scope)
      return scope.error();
    auto lenet = build(options.examples + "/lenet.nn");
    if (!lenet)
      return lenet.error();
    double loadNs = 0;
    if (auto functions = load(**device, *lenet, loadNs); !functions)
      return functions.error();
    addTime("Stand-in driver, translation of lenet", loadNs, 2e9);
    return gemm(**device);
  }

  /// Functions of the model's kernels; the driver's part of the time is added to `ns`.
  Result<std::vector<CUfunction>> load(const Device &device, const driver::CudaProgram &model, double &ns) {
    auto compiled = compile(model, options);
    if (!compiled)
      return compiled.error();
    std::vector<CUfunction> functions;
    auto start = Clock::now();
    for (size_t i = 0; i < compiled->images.size(); ++i) {
      CUmodule module = nullptr;
      CUfunction function = nullptr;
      if (CUresult code = device.driver().cuModuleLoadData(&module, compiled->images[i].c_str()))
        return device.failure(code, "cuModuleLoadData", "cannot load " + model.sources[i].symbol);
      if (CUresult code = device.driver().cuModuleGetFunction(&function, module, model.sources[i].symbol.c_str()))
        return device.failure(code, "cuModuleGetFunction", "cannot find " + model.sources[i].symbol);
      functions.push_back(function);
    }
    ns += nsSince(start);
    return functions;
  }

  Result<void> gemm(const Device &device) {
    auto model = build("gemm.nn", gemmText());
    if (!model)
      return model.error();
    double loadNs = 0;
    auto functions = load(device, *model, loadNs);
    if (!functions)
      return functions.error();
    const rt::Program &program = model->program;
    const Driver &driver = device.driver();
    std::vector<CUdeviceptr> addresses(program.buffers.size());
    for (size_t i = 0; i < addresses.size(); ++i) {
      size_t bytes = program.buffers[i].sizeBytes.evaluate({}).getOr(0);
      if (CUresult code = driver.cuMemAlloc_v2(&addresses[i], std::max<size_t>(bytes, 1)))
        return device.failure(code, "cuMemAlloc", "no memory for the product");
      constexpr unsigned kOne = 0x3f800000;
      driver.cuMemsetD32_v2(addresses[i], kOne, bytes / sizeof(float));
    }
    std::vector<double> times;
    for (int i = 0; i < 6; ++i) { // the first one warms up
      auto start = Clock::now();
      // A product whose depth is cut into parts has a second step, which adds them up.
      for (const rt::Step &step : program.findEntryPoint("infer")->steps)
        if (CUresult code = launch(driver, (*functions)[step.kernel], program, step, addresses))
          return device.failure(code, "cuLaunchKernel", "the product failed");
      if (CUresult code = driver.cuCtxSynchronize())
        return device.failure(code, "cuCtxSynchronize", "the product failed");
      if (i > 0)
        times.push_back(nsSince(start));
    }
    for (CUdeviceptr address : addresses)
      driver.cuMemFree_v2(address);
    double rate = 2.0 * kGemmSize * kGemmSize * kGemmSize / median(times); // FLOP per ns
    constexpr double kGoal = 2;
    table.addRow({fmt::format("Stand-in driver, f32 product of {0} x {0} x {0}, one core", kGemmSize), formatFixed(rate, 2) + " GFLOP/s",
                  ">= " + formatFixed(kGoal, 0) + " GFLOP/s", rate >= kGoal ? "yes" : "no"});
    return {};
  }

  /// A step of a program without named dims.
  static CUresult launch(const Driver &driver, CUfunction function, const rt::Program &program, const rt::Step &step,
                         std::vector<CUdeviceptr> &addresses) {
    std::vector<void *> arguments;
    for (const rt::BufferRef &ref : step.args)
      arguments.push_back(&addresses[ref.buffer]);
    const rt::CudaLaunch &launch = *program.kernels[step.kernel].cuda;
    auto extent = [](const rt::SizeExpr &expr) { return static_cast<unsigned>(expr.evaluate({}).getOr(0)); };
    return driver.cuLaunchKernel(function, extent(launch.gridX), extent(launch.gridY), extent(launch.gridZ),
                                 static_cast<unsigned>(launch.threadsPerBlock), 1, 1, 0, nullptr, arguments.data(), nullptr);
  }

  void addTime(const std::string &what, double ns, double goalNs) {
    table.addRow({what, formatDuration(ns), goalNs > 0 ? "< " + formatDuration(goalNs) : "", goalNs == 0 ? "" : ns < goalNs ? "yes" : "no"});
  }

  Options options;
  TextTable table{{{"what", Left, 80}, {"measured"}, {"goal"}, {"reached", Left}}};
};

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Measures what CUDA kernels cost without a GPU: compilation by NVRTC, and the stand-in driver.", "nncc-bench-cuda");
  Options options;
  app.set_version_flag("--version", "nncc-bench-cuda " NNCC_VERSION);
  app.add_option("--threads", options.threads, "Threads that compile")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--arch", options.architecture, "What NVRTC compiles for: compute_80 for PTX, sm_80 for machine code")->capture_default_str();
  app.add_option("--examples", options.examples, "Folder of resnet50.nn and lenet.nn")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::error_code code;
  auto self = std::filesystem::read_symlink("/proc/self/exe", code);
  auto cache = std::filesystem::temp_directory_path(code) / fmt::format("nncc-bench-cuda-{}", static_cast<int>(getpid()));
  setenv("NNCC_CACHE_DIR", cache.c_str(), 1);
  setenv("NNCC_CUDA_DRIVER", (self.parent_path().parent_path() / "lib/cuda-emulator/libcuda.so.1").c_str(), 0);
  setenv("CUDA_EMULATOR_THREADS", "1", 0);
  Bench bench(std::move(options));
  Result<void> result = bench.run();
  std::filesystem::remove_all(cache, code);
  fmt::print("{}", bench.render());
  if (!result) {
    fmt::print(stderr, "nncc-bench-cuda: error: {}\n", result.error().message);
    return exitStatusOf(result.error().kind);
  }
  return kDone;
}
