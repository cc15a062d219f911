// What people who come from PyTorch, Keras or NumPy write, and what to write here. Kept apart from
// the elaborator, whose errors end with this advice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nncc::frontend {

/// "; did you mean 'linear'?": the name of ours that another framework's name stands for, or else
/// the nearest of `candidates`; empty when none is near.
std::string suggestName(std::string_view name, const std::vector<std::string> &candidates);

/// Advice for a call of the unknown `callee`, beginning with "; "; empty for none. A dotted callee
/// is a module's function (`nn.Linear`), a layer object (`self.conv1`) or, where `baseIsValue`, a
/// method of a value (`x.view`).
std::string adviceForCallee(std::string_view callee, bool baseIsValue,
                            const std::vector<std::string> &candidates);

/// Advice for an argument that operations elsewhere have and ours do not: "; ..." or empty.
std::string adviceForArgument(std::string_view name);

} // namespace nncc::frontend
