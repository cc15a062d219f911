// Where the time of a run goes: a table per kernel and a trace for Perfetto.
#pragma once

#include "tools/support/Model.h"

#include <nlohmann/json_fwd.hpp>

namespace nncc::tools {

struct ProfileResult {
  std::vector<nncc_step_profile> steps; ///< summed over the profiled runs
  double peakGflops = 0;                ///< 0 where it is not measured: on a CUDA device
  std::string where;                    ///< "2 threads", "cuda (sm_80)"
  /// Chrome trace events of some of the runs.
  std::vector<std::string> traceEvents;
};

struct ProfileOptions {
  double warmupSeconds = 0.2;
  double durationSeconds = 1;
  int minIterations = 10;
};

/// `threads`: those that run the model, 0 on a CUDA device.
Result<ProfileResult> runProfile(const Model &model, Instance &instance,
                                 std::span<const DLTensor> inputs,
                                 std::span<const DLTensor> outputs, int threads,
                                 const ProfileOptions &options);

std::string renderProfile(const nncc_model_info &info, const ProfileResult &result);

/// The file's text: open it at ui.perfetto.dev.
std::string renderTrace(const nncc_model_info &info, const ProfileResult &result);

nlohmann::json toJson(const nncc_model_info &info, const ProfileResult &result);

} // namespace nncc::tools
