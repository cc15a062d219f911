// What measurements of runs begin with.
#pragma once

#include "tools/support/Model.h"

#include <chrono>

namespace nncc::tools {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start);

/// Runs once, and again until so many seconds are over.
Result<void> warmUp(Instance &instance, std::span<const DLTensor> inputs,
                    std::span<const DLTensor> outputs, double seconds);

} // namespace nncc::tools
