// What the environment says about the emulated device, read once at cuInit. The list of variables, with
// their defaults, is the table in Settings.cpp; README.md shows it.
#pragma once

#include <cstdint>
#include <string>

namespace nncc::cuemu {

struct Settings {
  int deviceCount = 1;
  int capabilityMajor = 8, capabilityMinor = 0;
  uint64_t memoryBytes = uint64_t{8} << 30;
  int multiprocessorCount = 108;
  bool isChecked = false;
  uint64_t seed = 0;
  unsigned workers = 0; ///< 0: one per processor
  double timeLimitSeconds = 0;
  int optimisationLevel = 3;
  int driverVersion = 13000;
  std::string reportFile; ///< empty: standard error
};

/// Reads the environment. A malformed value is reported in `error`.
Settings readSettings(std::string &error);

} // namespace nncc::cuemu
