// What this machine can do at most, measured: the yardstick of benchmarks and profiles. Clocks
// change from minute to minute, so a share of the peak means something only when the peak was
// measured in the same run, between the measurements it is compared to.
#pragma once

#include <vector>

namespace nncc::tools {

/// Single-precision multiply-adds with the widest vectors of the CPU, all operands in registers.
/// Samples are taken one by one, interleaved with what is to be compared; the result is their
/// median.
class MachinePeak {
public:
  explicit MachinePeak(int threads) : threads(threads) {}

  /// Runs for about two milliseconds on each thread.
  void sample();

  /// GFLOP/s of all threads together; 0 before the first sample.
  double gflops() const;

  /// "AVX-512", "AVX2", "SSE2 without FMA", "NEON"
  static const char *instructionSet();

private:
  int threads;
  std::vector<double> samples;
};

} // namespace nncc::tools
