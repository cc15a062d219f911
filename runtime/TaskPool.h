// Who runs the tasks of a step: the runtime's own threads or the caller's parallel_for, behind one
// interface. Takes a flat range of independent tasks, cuts it into more chunks than there are lanes
// (so that a lane whose core is taken away delays the rest little) and leaves when all are done.
#pragma once

#include "support/Error.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace nncc::rt {

/// Runs the tasks [beginTask, endTask) on the lane `lane`; returns a KernelStatus.
using TaskBody = int32_t (*)(void *context, int64_t beginTask, int64_t endTask, int lane);

class TaskPool {
public:
  virtual ~TaskPool() = default;

  /// The number of tasks that can run at the same time. Each call of a body has a lane in [0,
  /// lanes()) that no other call has at that time: the index of its scratch memory.
  virtual int lanes() const = 0;

  /// Runs [0, taskCount) and returns the first status that was not zero. After a failure remaining
  /// chunks are dropped.
  virtual int32_t run(int64_t taskCount, TaskBody body, void *context) = 0;

  /// No step follows for a while: threads may go to sleep.
  virtual void rest() {}
};

/// A range of tasks cut into chunks of nearly equal size.
struct Chunks {
  static constexpr int64_t kPerLane = 4;

  Chunks(int64_t taskCount, int lanes)
      : taskCount(taskCount), count(std::min<int64_t>(taskCount, lanes * kPerLane)) {}

  int64_t begin(int64_t chunk) const {
    return chunk * (taskCount / count) + std::min(chunk, taskCount % count);
  }

  int64_t taskCount;
  int64_t count;
};

/// Runs everything on the calling thread. Creates no thread.
std::unique_ptr<TaskPool> makeSerialPool();

/// `threads` lanes: the calling thread and threads - 1 of its own. An environment error when they
/// cannot be started.
Result<std::unique_ptr<TaskPool>> makeThreadPool(int threads);

/// The caller's threads: parallelFor(context, count, body, bodyContext) has to call
/// body(bodyContext, i) once for each i in [0, count), in any order, on any thread, and return when
/// all calls have returned.
struct CallerParallelFor {
  void (*parallelFor)(void *context, int64_t count, void (*body)(void *bodyContext, int64_t index),
                      void *bodyContext) = nullptr;
  void *context = nullptr;
  int lanes = 1;
};
std::unique_ptr<TaskPool> makeCallerPool(const CallerParallelFor &caller);

/// The number of cores that this process may run on, hyper-threads of one core counted once: the
/// default number of threads.
int usableCoreCount();

} // namespace nncc::rt
