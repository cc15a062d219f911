// Where the C and C++ run-time libraries of this machine are: a model.so is linked against these
// files, not against a compiler's development files, so that nncc needs no compiler beside it.
#pragma once

#include "support/Error.h"

#include <string>
#include <vector>

namespace nncc::codegen {

/// Paths of the run-time libraries that a model.so may need. The libraries that this process itself
/// has loaded come first, then the system's folders. An environment error names what is missing and
/// where it was looked for.
Result<std::vector<std::string>> findSystemLibraries();

} // namespace nncc::codegen
