// The pools without threads of their own, and the count of cores from which the number of threads
// is chosen.
#include "runtime/TaskPool.h"

#include <atomic>
#include <fstream>
#include <sched.h>
#include <set>
#include <string>

namespace nncc::rt {
namespace {

class SerialPool final : public TaskPool {
public:
  int lanes() const override { return 1; }
  int32_t run(int64_t taskCount, TaskBody body, void *context) override {
    return taskCount > 0 ? body(context, 0, taskCount, 0) : 0;
  }
};

class CallerPool final : public TaskPool {
public:
  explicit CallerPool(const CallerParallelFor &caller) : caller(caller) {}

  int lanes() const override { return caller.lanes; }

  // One call of the caller's body per lane; each takes chunks until none is left. So a lane's
  // scratch memory is never shared, whatever threads the caller uses.
  int32_t run(int64_t taskCount, TaskBody body, void *context) override {
    if (taskCount <= 1)
      return taskCount == 1 ? body(context, 0, 1, 0) : 0;
    Job job{body, context, Chunks(taskCount, caller.lanes)};
    int64_t lanes = std::min<int64_t>(caller.lanes, job.chunks.count);
    caller.parallelFor(caller.context, lanes, &runLane, &job);
    return job.status.load(std::memory_order_relaxed);
  }

private:
  struct Job {
    TaskBody body;
    void *context;
    Chunks chunks;
    std::atomic<int64_t> next{0};
    std::atomic<int32_t> status{0};
  };

  static void runLane(void *jobPointer, int64_t lane) {
    Job &job = *static_cast<Job *>(jobPointer);
    while (job.status.load(std::memory_order_relaxed) == 0) {
      int64_t chunk = job.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= job.chunks.count)
        return;
      int32_t status = job.body(job.context, job.chunks.begin(chunk), job.chunks.begin(chunk + 1),
                                static_cast<int>(lane));
      int32_t none = 0;
      if (status != 0)
        job.status.compare_exchange_strong(none, status, std::memory_order_relaxed);
    }
  }

  CallerParallelFor caller;
};

} // namespace

std::unique_ptr<TaskPool> makeSerialPool() { return std::make_unique<SerialPool>(); }

std::unique_ptr<TaskPool> makeCallerPool(const CallerParallelFor &caller) {
  return std::make_unique<CallerPool>(caller);
}

int usableCoreCount() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed))
      continue;
    // The list of hyper-threads names the core; where the system does not tell, each processor
    // counts as a core.
    std::string siblings;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::getline(file, siblings);
    cores.insert(siblings.empty() ? "cpu" + std::to_string(cpu) : siblings);
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

} // namespace nncc::rt
