// The kernels that nncc-bench measures: shapes of everyday networks, as one-layer models.
#pragma once

#include <string>
#include <vector>

namespace nncc::tools {

struct BenchmarkCase {
  std::string group; ///< conv, gemm, depthwise, other
  std::string name;
  std::string text; ///< the model
  /// The share of the FMA peak that one thread should reach, or 0: no goal.
  double goal = 0;
};

const std::vector<BenchmarkCase> &benchmarkCases();

} // namespace nncc::tools
