// Times of the steps of a run as the device's clock sees them: an event before the first step and
// one after each.
#pragma once

#include "runtime/Execution.h"
#include "runtime/cuda/DeviceMemory.h"

namespace nncc::rt::cuda {

class StepTimer {
public:
  StepTimer() = default;
  explicit StepTimer(std::shared_ptr<const Device> device) : device(std::move(device)) {}
  StepTimer(StepTimer &&) = default;
  StepTimer &operator=(StepTimer &&other) noexcept;
  ~StepTimer() { clear(); }

  /// Marks the beginning of the run with `stepCount` steps.
  Result<void> begin(size_t stepCount, CUstream stream);
  /// Marks the end of a step.
  Result<void> end(size_t step, CUstream stream);
  /// Adds the times of the run, once the stream is done.
  Result<void> addTo(std::span<StepTimes> times) const;

private:
  Result<void> record(size_t event, CUstream stream);
  void clear();

  std::shared_ptr<const Device> device;
  std::vector<CUevent> events;
};

} // namespace nncc::rt::cuda
