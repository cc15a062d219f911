// See Measure.h.

#include "tools/support/Measure.h"

namespace nncc::tools {

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<void> warmUp(Instance &instance, std::span<const DLTensor> inputs,
                    std::span<const DLTensor> outputs, double seconds) {
  auto start = Clock::now();
  do {
    if (auto ran = instance.run(inputs, outputs); !ran)
      return ran;
  } while (secondsSince(start) < seconds);
  return {};
}

} // namespace nncc::tools
