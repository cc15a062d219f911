// Training steps of everyday networks: time, rate and share of the multiply-add peak that is sampled in between, and, where a Python
// with PyTorch is given, the same step there, by turns.
#pragma once

#include "support/Error.h"

#include <string>

namespace nncc::tools {

struct TrainingBenchmark {
  std::string examples; ///< folder of the models
  std::string python;   ///< a Python that has PyTorch, or empty
  int threads = 1;
  double seconds = 1; ///< of each measurement
  bool profile = false; ///< a table of each step's kernels too
  std::string only;   ///< part of a model's name, or empty: all
};

/// Prints one table.
Result<void> benchmarkTraining(const TrainingBenchmark &benchmark);

} // namespace nncc::tools
