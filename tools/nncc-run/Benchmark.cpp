// Timing of whole runs; see Benchmark.h.

#include "tools/nncc-run/Benchmark.h"
#include "tools/support/MachinePeak.h"
#include "tools/support/Measure.h"
#include "tools/support/Statistics.h"
#include "tools/support/Units.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>


using namespace nncc;
using namespace nncc::tools;

double BenchmarkResult::gflops() const {
  double time = median(runNs);
  return time > 0 ? flopsPerRun / time : 0;
}

Result<BenchmarkResult> tools::runBenchmark(Instance &instance, std::span<const DLTensor> inputs,
                                            std::span<const DLTensor> outputs, int threads,
                                            const BenchmarkOptions &options) {
  BenchmarkResult result;
  if (auto warm = warmUp(instance, inputs, outputs, options.warmupSeconds); !warm)
    return warm.error();

  // One profiled run tells the operations of a run at these dims.
  if (auto on = instance.setProfiling(true); !on)
    return on.error();
  if (auto ran = instance.run(inputs, outputs); !ran)
    return ran.error();
  auto steps = instance.profile();
  if (!steps)
    return steps.error();
  for (const nncc_step_profile &step : *steps) {
    result.flopsPerRun += static_cast<double>(step.flops);
    result.kernelNs += static_cast<double>(step.last_ns);
  }
  if (auto off = instance.setProfiling(false); !off)
    return off.error();
  if (auto ran = instance.run(inputs, outputs); !ran)
    return ran.error();

  constexpr double kPeakEverySeconds = 0.1;
  bool onCpu = threads > 0;
  MachinePeak peak(threads);
  auto start = Clock::now(), lastPeak = start;
  if (onCpu)
    peak.sample();
  while (static_cast<int>(result.runNs.size()) < options.minIterations ||
         secondsSince(start) < options.durationSeconds) {
    if (onCpu && secondsSince(lastPeak) > kPeakEverySeconds) {
      peak.sample();
      lastPeak = Clock::now();
    }
    auto before = Clock::now();
    if (auto ran = instance.run(inputs, outputs); !ran)
      return ran.error();
    result.runNs.push_back(std::chrono::duration<double, std::nano>(Clock::now() - before).count());
  }
  result.peakGflops = peak.gflops();
  return result;
}

std::string tools::renderBenchmark(const BenchmarkResult &result, int64_t batch) {
  double p50 = median(result.runNs);
  std::string text =
      fmt::format("  {:<12}{} on {}\n", "runs",
                  formatCount(static_cast<int64_t>(result.runNs.size())), result.where);
  auto line = [&](std::string_view name, const std::string &value) {
    text += fmt::format("  {:<12}{}\n", name, value);
  };
  line("p50", formatDuration(p50));
  line("p90", formatDuration(percentile(result.runNs, 0.90)));
  line("p95", formatDuration(percentile(result.runNs, 0.95)));
  line("p99", formatDuration(percentile(result.runNs, 0.99)));
  line("mean", formatDuration(mean(result.runNs)));
  line("throughput", fmt::format("{:.1f} items/s", p50 > 0 ? batch * 1e9 / p50 : 0));
  if (result.flopsPerRun > 0) {
    line("work", formatShortCount(result.flopsPerRun) + "FLOP a run");
    if (result.peakGflops > 0)
      line("speed", fmt::format("{:.1f} GFLOP/s, {} of the {:.0f} GFLOP/s that {} reaches here",
                                result.gflops(), formatShare(result.gflops() / result.peakGflops),
                                result.peakGflops, MachinePeak::instructionSet()));
  }
  if (result.peakGflops == 0)
    line("kernels", fmt::format("{} of a run, {:.1f} GFLOP/s; the rest copies tensors and waits",
                                formatDuration(result.kernelNs),
                                result.kernelNs > 0 ? result.flopsPerRun / result.kernelNs : 0));
  return text;
}

nlohmann::json tools::toJson(const BenchmarkResult &result) {
  return {{"runs", result.runNs.size()},
          {"where", result.where},
          {"kernel_ns", result.kernelNs},
          {"p50_ns", median(result.runNs)},
          {"p90_ns", percentile(result.runNs, 0.90)},
          {"p95_ns", percentile(result.runNs, 0.95)},
          {"p99_ns", percentile(result.runNs, 0.99)},
          {"mean_ns", mean(result.runNs)},
          {"flops", result.flopsPerRun},
          {"gflops", result.gflops()},
          {"peak_gflops", result.peakGflops}};
}
