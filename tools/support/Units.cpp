// Numbers as people read them; see Units.h.

#include "tools/support/Units.h"

#include "support/CheckedSize.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

using namespace nncc;
using namespace nncc::tools;

/// Three significant digits for a value below 1000.
static std::string significant(double value) {
  int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", value, digits);
}

std::string nncc::tools::formatDuration(double ns) {
  constexpr const char *kUnits[] = {"ns", "µs", "ms", "s"};
  size_t unit = 0;
  while (ns >= 999.5 && unit + 1 < std::size(kUnits)) {
    ns /= 1000;
    ++unit;
  }
  return significant(ns) + " " + kUnits[unit];
}

std::string nncc::tools::formatBytes(double bytes) {
  constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return (unit == 0 ? fmt::format("{:.0f}", bytes) : significant(bytes)) + " " + kUnits[unit];
}

std::string nncc::tools::formatCount(int64_t count) {
  std::string digits = std::to_string(count);
  for (int64_t at = int64_t(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
    digits.insert(at, ",");
  return digits;
}

std::string nncc::tools::formatShortCount(double count) {
  constexpr const char *kUnits[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  while (count >= 999.5 && unit + 1 < std::size(kUnits)) {
    count /= 1000;
    ++unit;
  }
  return (unit == 0 ? fmt::format("{:.0f}", count) : significant(count)) + kUnits[unit];
}

std::string nncc::tools::formatShare(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f}%", 100 * share) : "-";
}

std::string nncc::tools::formatFixed(double value, int digits) {
  return fmt::format("{:.{}f}", value, digits);
}

std::optional<int64_t> nncc::tools::parseBytes(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  if (error != std::errc() || number < 1 || suffix.size() > 1)
    return std::nullopt;
  CheckedSize bytes = number;
  if (!suffix.empty()) {
    size_t power = std::string_view("KMG").find(suffix[0]);
    if (power == std::string_view::npos)
      return std::nullopt;
    for (size_t i = 0; i <= power; ++i)
      bytes *= 1024;
  }
  return bytes.get();
}
