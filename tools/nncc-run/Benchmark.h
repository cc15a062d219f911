// Timing of whole runs, with the machine's peak measured between them.
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
  double peakGflops = 0;
  int threads = 1;

  double gflops() const;
};

Result<BenchmarkResult> runBenchmark(Instance &instance, std::span<const DLTensor> inputs,
                                     std::span<const DLTensor> outputs, int threads,
                                     const BenchmarkOptions &options);

std::string renderBenchmark(const BenchmarkResult &result, int64_t batch);
nlohmann::json toJson(const BenchmarkResult &result);

} // namespace nncc::tools
