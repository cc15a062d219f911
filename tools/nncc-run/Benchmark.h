// Timing of whole runs: on the CPU with the machine's peak measured between them, on a CUDA device
// with the time that its kernels take of a run.
#pragma once

#include "tools/support/Model.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace nncc::tools {

struct BenchmarkOptions {
  double warmupSeconds = 0.2;
  double durationSeconds = 3;
  int minIterations = 10;
};

struct BenchmarkResult {
  std::vector<double> runNs;
  double flopsPerRun = 0;
  double kernelNs = 0;   ///< CUDA: of one run, by the device's clock
  double peakGflops = 0; ///< 0 where it is not measured: on a CUDA device
  std::string where;     ///< "2 threads", "cuda (sm_80)"

  double gflops() const;
};

/// `threads`: those that run the model, 0 on a CUDA device.
Result<BenchmarkResult> runBenchmark(Instance &instance, std::span<const DLTensor> inputs,
                                     std::span<const DLTensor> outputs, int threads,
                                     const BenchmarkOptions &options);

std::string renderBenchmark(const BenchmarkResult &result, int64_t batch);
nlohmann::json toJson(const BenchmarkResult &result);

} // namespace nncc::tools
