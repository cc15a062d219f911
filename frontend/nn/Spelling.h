// "Did you mean": the nearest of a set of known names to one that is not known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::frontend {

/// The candidate closest to `name` by edits (insert, delete, replace, swap neighbours; letter case
/// counts for little), if it is close enough to be worth suggesting. The first wins a tie, so that
/// the result does not depend on anything but the order.
std::optional<std::string> closestName(std::string_view name,
                                       const std::vector<std::string> &candidates);

/// "; did you mean 'x'?" or nothing: the tail of an error message about an unknown name.
std::string suggestion(std::string_view name, const std::vector<std::string> &candidates);

} // namespace nncc::frontend
