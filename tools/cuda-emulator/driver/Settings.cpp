// The environment variables of the emulator, in one table.
#include "tools/cuda-emulator/driver/Settings.h"

#include <cerrno>
#include <cstdlib>
#include <functional>

namespace nncc::cuemu {
namespace {

bool parseNumber(const std::string &text, uint64_t &value) {
  errno = 0;
  char *end = nullptr;
  value = std::strtoull(text.c_str(), &end, 10);
  return errno == 0 && end != text.c_str() && *end == '\0';
}

/// A size with an optional K, M or G.
bool parseSize(std::string text, uint64_t &value) {
  int shift = 0;
  if (!text.empty()) {
    char unit = text.back();
    shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    if (shift != 0)
      text.pop_back();
  }
  if (!parseNumber(text, value) || value > (uint64_t{1} << (46 - shift)))
    return false;
  value <<= shift;
  return true;
}

struct Variable {
  const char *name;
  const char *expected;
  std::function<bool(Settings &, const std::string &)> set;
};

template <typename T> std::function<bool(Settings &, const std::string &)> numberInto(T Settings::*field) {
  return [field](Settings &settings, const std::string &text) {
    uint64_t value;
    if (!parseNumber(text, value))
      return false;
    settings.*field = static_cast<T>(value);
    return true;
  };
}

const Variable variables[] = {
    {"CUDA_EMULATOR_MODE", "plain or checked",
     [](Settings &settings, const std::string &text) {
       settings.isChecked = text == "checked";
       return text == "checked" || text == "plain";
     }},
    {"CUDA_EMULATOR_DEVICES", "a number of devices", numberInto(&Settings::deviceCount)},
    {"CUDA_EMULATOR_CAPABILITY", "a compute capability such as 8.0",
     [](Settings &settings, const std::string &text) {
       size_t dot = text.find('.');
       uint64_t major, minor;
       if (dot == std::string::npos || !parseNumber(text.substr(0, dot), major) ||
           !parseNumber(text.substr(dot + 1), minor))
         return false;
       settings.capabilityMajor = static_cast<int>(major);
       settings.capabilityMinor = static_cast<int>(minor);
       return true;
     }},
    {"CUDA_EMULATOR_MEMORY", "a size such as 8G",
     [](Settings &settings, const std::string &text) { return parseSize(text, settings.memoryBytes); }},
    {"CUDA_EMULATOR_MULTIPROCESSORS", "a number of multiprocessors", numberInto(&Settings::multiprocessorCount)},
    {"CUDA_EMULATOR_SEED", "a number; 0 keeps threads and blocks in order", numberInto(&Settings::seed)},
    {"CUDA_EMULATOR_THREADS", "a number of host threads", numberInto(&Settings::workers)},
    {"CUDA_EMULATOR_TIME_LIMIT", "seconds per launch",
     [](Settings &settings, const std::string &text) {
       char *end = nullptr;
       settings.timeLimitSeconds = std::strtod(text.c_str(), &end);
       return end != text.c_str() && *end == '\0';
     }},
    {"CUDA_EMULATOR_OPTIMISATION", "a level from 1 to 3", numberInto(&Settings::optimisationLevel)},
    {"CUDA_EMULATOR_DRIVER_VERSION", "a version such as 13000", numberInto(&Settings::driverVersion)},
    {"CUDA_EMULATOR_REPORT", "a file",
     [](Settings &settings, const std::string &text) {
       settings.reportFile = text;
       return !text.empty();
     }},
};

} // namespace

Settings readSettings(std::string &error) {
  Settings settings;
  for (const Variable &variable : variables)
    if (const char *text = std::getenv(variable.name); text && !variable.set(settings, text))
      error = std::string(variable.name) + "='" + text + "': expected " + variable.expected;
  if (settings.deviceCount < 0 || settings.deviceCount > 64 || settings.multiprocessorCount < 1)
    error = "CUDA_EMULATOR_DEVICES must be at most 64, CUDA_EMULATOR_MULTIPROCESSORS at least 1";
  return settings;
}

} // namespace nncc::cuemu
