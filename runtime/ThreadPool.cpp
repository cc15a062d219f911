// The runtime's own threads. A step of a small network takes microseconds, and waking a sleeping
// thread takes about twenty, so workers spin from the first step of a run to its end and sleep only
// between runs.
//
// The state of the present step is one 64-bit word, the ticket: its number (upper half) and how
// many chunks have not been taken (lower half). A lane takes a chunk by counting the lower half
// down with compare-and-swap. If that succeeds, the step of that number is still unfinished (this
// lane's chunk is missing), so its description cannot change under the lane. A worker that the
// system kept from running never delays a step: the caller waits for chunks, not for threads.
#include "runtime/TaskPool.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace nncc::rt {
namespace {

// After the end of a run workers stay awake this many polls (tens of microseconds), in case the
// next run follows at once.
constexpr int kPollsBeforeSleep = 2000;
// A spinning thread offers its core to others now and then, so that more threads than cores still
// make progress.
constexpr int kPollsBeforeYield = 4000;

constexpr size_t kCacheLineBytes = 64;

inline void relaxCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class ThreadPool final : public TaskPool {
public:
  explicit ThreadPool(int threads) { workers.reserve(static_cast<size_t>(threads) - 1); }

  ~ThreadPool() override {
    {
      std::lock_guard<std::mutex> lock(sleepMutex);
      stopping.store(true);
    }
    wakeUp.notify_all();
    for (std::thread &worker : workers)
      worker.join();
  }

  /// Throws std::system_error.
  void start(int threads) {
    laneCount = threads;
    for (int lane = 1; lane < threads; ++lane)
      workers.emplace_back([this, lane] { work(lane); });
  }

  int lanes() const override { return laneCount; }

  int32_t run(int64_t taskCount, TaskBody body, void *context) override {
    if (taskCount <= 1)
      return taskCount == 1 ? body(context, 0, 1, 0) : 0;
    wakeWorkers();
    job = {body, context, Chunks(taskCount, laneCount)};
    finishedChunks.store(0, std::memory_order_relaxed);
    jobStatus.store(0, std::memory_order_relaxed);
    uint64_t number = (ticket.load(std::memory_order_relaxed) >> 32) + 1;
    ticket.store(number << 32 | static_cast<uint64_t>(job.chunks.count), std::memory_order_release);

    takeChunks(0);
    for (int polls = 0; finishedChunks.load(std::memory_order_acquire) != job.chunks.count; ++polls)
      poll(polls);
    return jobStatus.load(std::memory_order_relaxed);
  }

  void rest() override { awake.store(false, std::memory_order_relaxed); }

private:
  struct Job {
    TaskBody body = nullptr;
    void *context = nullptr;
    Chunks chunks{0, 0};
  };

  static void poll(int polls) {
    if (polls % kPollsBeforeYield == kPollsBeforeYield - 1)
      std::this_thread::yield();
    else
      relaxCpu();
  }

  /// Takes and runs chunks until none is left.
  void takeChunks(int lane) {
    uint64_t seen = ticket.load(std::memory_order_acquire);
    while (uint64_t left = seen & UINT32_MAX) {
      if (!ticket.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire))
        continue;
      int64_t chunk = job.chunks.count - static_cast<int64_t>(left);
      if (jobStatus.load(std::memory_order_relaxed) == 0) {
        int32_t status =
            job.body(job.context, job.chunks.begin(chunk), job.chunks.begin(chunk + 1), lane);
        int32_t none = 0;
        if (status != 0)
          jobStatus.compare_exchange_strong(none, status, std::memory_order_relaxed);
      }
      finishedChunks.fetch_add(1, std::memory_order_release);
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  void work(int lane) {
    int polls = 0;
    while (!stopping.load(std::memory_order_relaxed)) {
      if (ticket.load(std::memory_order_acquire) & UINT32_MAX) {
        takeChunks(lane);
        polls = 0;
      } else if (!awake.load(std::memory_order_relaxed) && polls >= kPollsBeforeSleep) {
        sleep();
        polls = 0;
      } else {
        poll(polls++);
      }
    }
  }

  // sleeping and awake are written and then read crosswise (here and in wakeWorkers) in
  // sequentially consistent order: either this thread sees awake, or the caller sees a sleeper and
  // notifies it.
  void sleep() {
    std::unique_lock<std::mutex> lock(sleepMutex);
    sleeping.fetch_add(1);
    wakeUp.wait(lock, [this] { return awake.load() || stopping.load(); });
    sleeping.fetch_sub(1);
  }

  void wakeWorkers() {
    if (awake.load(std::memory_order_relaxed))
      return;
    awake.store(true);
    if (sleeping.load() == 0)
      return;
    {
      std::lock_guard<std::mutex> lock(sleepMutex);
    }
    wakeUp.notify_all();
  }

  alignas(kCacheLineBytes) std::atomic<uint64_t> ticket{0};
  alignas(kCacheLineBytes) std::atomic<int64_t> finishedChunks{0};
  alignas(kCacheLineBytes) Job job;
  std::atomic<int32_t> jobStatus{0};
  alignas(kCacheLineBytes) std::atomic<bool> awake{false};
  std::atomic<bool> stopping{false};
  std::atomic<int> sleeping{0};
  std::mutex sleepMutex;
  std::condition_variable wakeUp;
  int laneCount = 1;
  std::vector<std::thread> workers;
};

} // namespace

Result<std::unique_ptr<TaskPool>> makeThreadPool(int threads) {
  if (threads <= 1)
    return makeSerialPool();
  auto pool = std::make_unique<ThreadPool>(threads);
  try {
    pool->start(threads);
  } catch (const std::system_error &error) {
    return environmentError("cannot start " + std::to_string(threads) +
                            " threads: " + error.what() +
                            "; ask for fewer threads or raise the limit (ulimit -u)");
  }
  return std::unique_ptr<TaskPool>(std::move(pool));
}

} // namespace nncc::rt
