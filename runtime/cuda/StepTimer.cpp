// Events around steps; see StepTimer.h.

#include "runtime/cuda/StepTimer.h"

namespace nncc::rt::cuda {

StepTimer &StepTimer::operator=(StepTimer &&other) noexcept {
  clear();
  device = std::move(other.device);
  events = std::move(other.events);
  return *this;
}

void StepTimer::clear() {
  if (!events.empty())
    if (auto scope = device->enter())
      for (CUevent event : events)
        device->driver().cuEventDestroy_v2(event);
  events.clear();
}

Result<void> StepTimer::record(size_t index, CUstream stream) {
  if (CUresult code = device->driver().cuEventRecord(events[index], stream))
    return device->failure(code, "cuEventRecord", "cannot take the time of a step");
  return {};
}

Result<void> StepTimer::begin(size_t stepCount, CUstream stream) {
  while (events.size() < stepCount + 1) {
    CUevent event = nullptr;
    if (CUresult code = device->driver().cuEventCreate(&event, CU_EVENT_DEFAULT))
      return device->failure(code, "cuEventCreate", "cannot take the time of steps");
    events.push_back(event);
  }
  return record(0, stream);
}

Result<void> StepTimer::end(size_t step, CUstream stream) { return record(step + 1, stream); }

Result<void> StepTimer::addTo(std::span<StepTimes> times) const {
  constexpr double kNsPerMs = 1e6;
  float untilStartMs = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    float untilEndMs = 0;
    if (CUresult code =
            device->driver().cuEventElapsedTime(&untilEndMs, events.front(), events[i + 1]))
      return device->failure(code, "cuEventElapsedTime", "cannot take the time of a step");
    StepTimes &step = times[i];
    step.lastStartNs = static_cast<int64_t>(untilStartMs * kNsPerMs);
    step.lastNs = static_cast<int64_t>((untilEndMs - untilStartMs) * kNsPerMs);
    step.totalNs += step.lastNs;
    step.minNs = std::min(step.minNs, step.lastNs);
    ++step.calls;
    untilStartMs = untilEndMs;
  }
  return {};
}

} // namespace nncc::rt::cuda
