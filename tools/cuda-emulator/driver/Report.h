// Where the emulator says what it found: standard error, or the file that CUDA_EMULATOR_REPORT names.
#pragma once

#include <string>

namespace nncc::cuemu {

void report(const std::string &message);

} // namespace nncc::cuemu
