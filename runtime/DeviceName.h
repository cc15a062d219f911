// How a device is named on command lines and in nncc.h: "cpu", "cuda", "cuda:1". The one place that
// reads such a name.
#pragma once

#include "support/Error.h"

#include <optional>
#include <string>
#include <string_view>

namespace nncc::rt {

struct DeviceName {
  bool isCuda = false;
  int ordinal = 0; ///< of the CUDA device
};

/// Nothing for text that names no kind of device that nncc knows.
inline std::optional<DeviceName> parseDeviceName(std::string_view text) {
  if (text == "cpu")
    return DeviceName{};
  if (text == "cuda")
    return DeviceName{true, 0};
  constexpr std::string_view kPrefix = "cuda:";
  constexpr size_t kMostDigits = 4;
  std::string_view digits = text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : "";
  if (digits.empty() || digits.size() > kMostDigits)
    return std::nullopt;
  int ordinal = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9')
      return std::nullopt;
    ordinal = ordinal * 10 + (digit - '0');
  }
  return DeviceName{true, ordinal};
}

inline Error unknownDevice(std::string_view text) {
  return userError("expected the device \"cpu\", \"cuda\" or \"cuda:N\", found \"" +
                   std::string(text) + "\"");
}

} // namespace nncc::rt
