// --emit=header: a C++ header with the inputs and outputs of one model as typed arguments.
#pragma once

#include "runtime/Program.h"
#include "support/Error.h"

#include <string>

namespace nncc::driver {

/// `library` is the default path of the shared object.
Result<std::string> writeModelHeader(const rt::Program &program, const std::string &library);

} // namespace nncc::driver
