// CPU levels by cpuid. Asked directly rather than through __builtin_cpu_supports, whose tables live
// in libgcc.a: a model.so is linked without a compiler's libraries.
#include "runtime/CpuLevel.h"

#include <cstdint>
#include <span>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nncc::rt {
namespace {

#if defined(__x86_64__)

enum Register : uint8_t { Eax, Ebx, Ecx, Edx };

/// The register state that the operating system has to save for a feature to be usable.
enum class State : uint8_t { None, Avx, Avx512, Amx };

struct Feature {
  std::string_view name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  uint8_t bit;
  State state;
};

constexpr Feature kV2Features[] = {
    {"cx16", 1, 0, Ecx, 13, State::None},   {"lahf", 0x80000001, 0, Ecx, 0, State::None},
    {"popcnt", 1, 0, Ecx, 23, State::None}, {"sse3", 1, 0, Ecx, 0, State::None},
    {"sse4.1", 1, 0, Ecx, 19, State::None}, {"sse4.2", 1, 0, Ecx, 20, State::None},
    {"ssse3", 1, 0, Ecx, 9, State::None},
};
constexpr Feature kV3Features[] = {
    {"avx", 1, 0, Ecx, 28, State::Avx},    {"avx2", 7, 0, Ebx, 5, State::Avx},
    {"bmi", 7, 0, Ebx, 3, State::None},    {"bmi2", 7, 0, Ebx, 8, State::None},
    {"f16c", 1, 0, Ecx, 29, State::Avx},   {"fma", 1, 0, Ecx, 12, State::Avx},
    {"movbe", 1, 0, Ecx, 22, State::None}, {"lzcnt", 0x80000001, 0, Ecx, 5, State::None},
};
constexpr Feature kV4Features[] = {
    {"avx512f", 7, 0, Ebx, 16, State::Avx512},  {"avx512bw", 7, 0, Ebx, 30, State::Avx512},
    {"avx512cd", 7, 0, Ebx, 28, State::Avx512}, {"avx512dq", 7, 0, Ebx, 17, State::Avx512},
    {"avx512vl", 7, 0, Ebx, 31, State::Avx512},
};
/// Beyond the levels.
constexpr Feature kExtraFeatures[] = {
    {"amx-bf16", 7, 0, Edx, 22, State::Amx},      {"amx-int8", 7, 0, Edx, 25, State::Amx},
    {"amx-tile", 7, 0, Edx, 24, State::Amx},      {"avx512bf16", 7, 1, Eax, 5, State::Avx512},
    {"avx512fp16", 7, 0, Edx, 23, State::Avx512}, {"avx512vbmi", 7, 0, Ecx, 1, State::Avx512},
    {"avx512vnni", 7, 0, Ecx, 11, State::Avx512}, {"avxvnni", 7, 1, Eax, 4, State::Avx},
};

struct Level {
  std::string_view name;
  std::span<const Feature> features; ///< those that the level before does not have
};

constexpr Level kLevels[] = {{"x86-64", {}},
                             {"x86-64-v2", kV2Features},
                             {"x86-64-v3", kV3Features},
                             {"x86-64-v4", kV4Features}};

uint64_t enabledStates() {
  uint32_t regs[4];
  constexpr uint32_t kOsXsave = 1u << 27;
  if (!__get_cpuid(1, &regs[Eax], &regs[Ebx], &regs[Ecx], &regs[Edx]) || !(regs[Ecx] & kOsXsave))
    return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

bool isStateEnabled(State state) {
  static constexpr uint64_t kNeeded[] = {0, 0x6, 0xE6, 0x60000};
  uint64_t needed = kNeeded[static_cast<int>(state)];
  return needed == 0 || (enabledStates() & needed) == needed;
}

bool hasFeature(const Feature &feature) {
  uint32_t regs[4];
  return __get_cpuid_count(feature.leaf, feature.subleaf, &regs[Eax], &regs[Ebx], &regs[Ecx],
                           &regs[Edx]) &&
         (regs[feature.reg] >> feature.bit & 1) && isStateEnabled(feature.state);
}

bool hasLevel(const Level &level) {
  for (const Feature &feature : level.features)
    if (!hasFeature(feature))
      return false;
  return true;
}

#else

struct Feature {
  std::string_view name;
};
struct Level {
  std::string_view name;
};

#if defined(__aarch64__)
constexpr Level kLevels[] = {{"aarch64"}};
#else
constexpr Level kLevels[] = {{"generic"}};
#endif
constexpr std::span<const Feature> kExtraFeatures;

bool hasFeature(const Feature &) { return true; }
bool hasLevel(const Level &) { return true; }

#endif

/// The position of the machine's base level in kLevels.
int hostBase() {
  int base = 0;
  while (base + 1 < static_cast<int>(std::size(kLevels)) && hasLevel(kLevels[base + 1]))
    ++base;
  return base;
}

} // namespace

std::string hostCpuLevel() {
  std::string level(kLevels[hostBase()].name);
  for (const Feature &feature : kExtraFeatures)
    if (hasFeature(feature))
      level += "+" + std::string(feature.name);
  return level;
}

std::optional<int> rankOnHost(std::string_view level) {
  constexpr int kBaseWeight = 100; // a higher base counts for more than any number of features
  size_t end = level.find('+');
  std::string_view base = level.substr(0, end);
  int rank = -1;
  for (int i = hostBase(); i >= 0; --i)
    if (kLevels[i].name == base)
      rank = i * kBaseWeight;
  if (rank < 0)
    return std::nullopt;
  while (end != std::string_view::npos) {
    level.remove_prefix(end + 1);
    end = level.find('+');
    std::string_view name = level.substr(0, end);
    bool supported = false;
    for (const Feature &feature : kExtraFeatures)
      supported |= feature.name == name && hasFeature(feature);
    if (!supported)
      return std::nullopt;
    ++rank;
  }
  return rank;
}

} // namespace nncc::rt
