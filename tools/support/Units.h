// Numbers as people read them: three or four significant digits and a unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nncc::tools {

std::string formatDuration(double ns);      ///< "3.42 ms"
std::string formatBytes(double bytes);      ///< "1.50 MiB"
std::string formatCount(int64_t count);     ///< "1,234,567"
std::string formatShortCount(double count); ///< "8.18 G"
/// "512M": bytes, with K, M or G for a thousand and twenty-four of what comes before; nothing for anything else, or less than 1.
std::optional<int64_t> parseBytes(std::string_view text);
std::string formatShare(double share);      ///< "92.4%"
std::string formatFixed(double value, int digits);

} // namespace nncc::tools
