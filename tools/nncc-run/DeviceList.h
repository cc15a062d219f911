// What --list-devices shows: the CPU, the CUDA devices and the libraries that they need.
#pragma once

#include <string>

namespace nncc::tools {

/// Where something is missing, the text says what and why.
std::string renderDevices();

} // namespace nncc::tools
