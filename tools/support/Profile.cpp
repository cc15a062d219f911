// Profiles of runs; see Profile.h.

#include "tools/support/Profile.h"
#include "tools/support/MachinePeak.h"
#include "tools/support/Measure.h"
#include "tools/support/TextTable.h"
#include "tools/support/Units.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace nncc;
using namespace nncc::tools;

/// The steps of the last run as trace events; `runStartNs` is when it began.
static void addTraceEvents(const nncc_model_info &info, const std::vector<nncc_step_profile> &steps,
                           double runStartNs, std::vector<std::string> &events) {
  for (const nncc_step_profile &step : steps) {
    const nncc_kernel_info &kernel = info.kernels[step.kernel];
    nlohmann::json event = {
        {"name", kernel.name},
        {"ph", "X"},
        {"pid", 1},
        {"tid", 1},
        {"ts", (runStartNs + step.last_start_ns) / 1e3},
        {"dur", step.last_ns / 1e3},
        {"args", {{"source", kernel.source}, {"flops", step.flops}, {"tasks", step.tasks}}}};
    events.push_back(event.dump());
  }
}

Result<ProfileResult> tools::runProfile(const Model &model, Instance &instance,
                                        std::span<const DLTensor> inputs,
                                        std::span<const DLTensor> outputs, int threads,
                                        const ProfileOptions &options) {
  ProfileResult result;
  if (auto warm = warmUp(instance, inputs, outputs, options.warmupSeconds); !warm)
    return warm.error();

  if (auto on = instance.setProfiling(true); !on)
    return on.error();
  constexpr int kTracedRuns = 5;
  constexpr double kPeakEverySeconds = 0.1;
  bool onCpu = threads > 0;
  MachinePeak peak(threads);
  if (onCpu)
    peak.sample();
  auto start = Clock::now(), lastPeak = start;
  for (int run = 0; run < options.minIterations || secondsSince(start) < options.durationSeconds;
       ++run) {
    if (onCpu && secondsSince(lastPeak) > kPeakEverySeconds) {
      peak.sample();
      lastPeak = Clock::now();
    }
    double runStartNs = secondsSince(start) * 1e9;
    if (auto ran = instance.run(inputs, outputs); !ran)
      return ran.error();
    if (run < kTracedRuns) {
      auto steps = instance.profile();
      if (!steps)
        return steps.error();
      addTraceEvents(model.info(), *steps, runStartNs, result.traceEvents);
    }
  }
  auto steps = instance.profile();
  if (!steps)
    return steps.error();
  result.steps = std::move(*steps);
  result.peakGflops = peak.gflops();
  if (auto off = instance.setProfiling(false); !off)
    return off.error();
  return result;
}

namespace {

/// All steps that run the same kernel.
struct KernelTotals {
  uint32_t kernel = 0;
  int64_t calls = 0;
  int64_t stepsPerRun = 0;
  double ns = 0;
  double flops = 0; ///< of all calls
  double bytes = 0;
};

std::vector<KernelTotals> totalsByKernel(const nncc_model_info &info, const ProfileResult &result) {
  std::vector<KernelTotals> totals(info.kernel_count);
  for (const nncc_step_profile &step : result.steps) {
    KernelTotals &total = totals[step.kernel];
    total.calls += step.calls;
    total.stepsPerRun += 1;
    total.ns += static_cast<double>(step.total_ns);
    total.flops += static_cast<double>(step.flops) * step.calls;
    total.bytes += static_cast<double>(step.traffic_bytes) * step.calls;
  }
  for (size_t i = 0; i < totals.size(); ++i)
    totals[i].kernel = static_cast<uint32_t>(i);
  std::erase_if(totals, [](const KernelTotals &total) { return total.calls == 0; });
  std::sort(totals.begin(), totals.end(), [](const KernelTotals &a, const KernelTotals &b) {
    return a.ns != b.ns ? a.ns > b.ns : a.kernel < b.kernel;
  });
  return totals;
}

} // namespace

/// "lenet.nn:9:12" of a longer path.
static std::string fileName(std::string_view source) {
  return std::string(source.substr(source.rfind('/') + 1));
}

std::string tools::renderProfile(const nncc_model_info &info, const ProfileResult &result) {
  std::vector<KernelTotals> totals = totalsByKernel(info, result);
  KernelTotals all;
  int64_t runs = result.steps.empty() ? 0 : result.steps.front().calls;
  for (const KernelTotals &total : totals) {
    all.stepsPerRun += total.stepsPerRun;
    all.ns += total.ns;
    all.flops += total.flops;
    all.bytes += total.bytes;
  }
  using enum TextTable::Align;
  TextTable table({{"kernel", Left, 44},
                   {"source", Left, 28},
                   {"calls"},
                   {"µs"},
                   {"%"},
                   {"GFLOP/s"},
                   {"of peak"},
                   {"GB/s"}});
  auto addRow = [&](std::string name, std::string source, const KernelTotals &total) {
    double rate = total.ns > 0 ? total.flops / total.ns : 0;
    table.addRow(
        {std::move(name), std::move(source), formatCount(total.stepsPerRun),
         formatFixed(total.ns / 1e3 / std::max<int64_t>(runs, 1), 1),
         formatFixed(all.ns > 0 ? 100 * total.ns / all.ns : 0, 1),
         total.flops > 0 ? formatFixed(rate, 1) : "-",
         total.flops > 0 && result.peakGflops > 0 ? formatShare(rate / result.peakGflops) : "-",
         formatFixed(total.ns > 0 ? total.bytes / total.ns : 0, 1)});
  };
  for (const KernelTotals &total : totals)
    addRow(info.kernels[total.kernel].name, fileName(info.kernels[total.kernel].source), total);
  table.addRule();
  addRow("total", "", all);
  std::string text = table.render() +
                     fmt::format("Per run, mean of {} runs on {}", formatCount(runs), result.where);
  if (result.peakGflops > 0)
    text +=
        fmt::format("; peak {:.0f} GFLOP/s ({})", result.peakGflops, MachinePeak::instructionSet());
  return text + ".\n";
}

std::string tools::renderTrace(const nncc_model_info &info, const ProfileResult &result) {
  nlohmann::json name = {
      {"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", info.name}}}};
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" + name.dump();
  for (const std::string &event : result.traceEvents)
    text += ",\n" + event;
  return text + "\n]}\n";
}

nlohmann::json tools::toJson(const nncc_model_info &info, const ProfileResult &result) {
  nlohmann::json steps = nlohmann::json::array();
  for (const nncc_step_profile &step : result.steps) {
    const nncc_kernel_info &kernel = info.kernels[step.kernel];
    steps.push_back({{"kernel", kernel.name},
                     {"symbol", kernel.symbol},
                     {"source", kernel.source},
                     {"calls", step.calls},
                     {"mean_ns", step.calls ? double(step.total_ns) / step.calls : 0},
                     {"min_ns", step.calls ? step.min_ns : 0},
                     {"flops", step.flops},
                     {"traffic_bytes", step.traffic_bytes}});
  }
  return {{"where", result.where}, {"peak_gflops", result.peakGflops}, {"steps", steps}};
}
