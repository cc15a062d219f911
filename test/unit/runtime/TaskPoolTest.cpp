// TaskPool: every task runs exactly once, on a lane of its own, for each kind of pool; failures
// stop a step and are reported.
#include "runtime/TaskPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace nncc;
using namespace nncc::rt;

namespace {

struct Count {
  explicit Count(size_t tasks, int lanes) : runs(tasks), busy(static_cast<size_t>(lanes)) {}
  std::vector<std::atomic<int>> runs;
  std::vector<std::atomic<int>> busy; // calls per lane at this moment
  std::atomic<int> violations{0};
  std::atomic<int> calls{0};
  int64_t failingTask = -1;

  static int32_t body(void *context, int64_t begin, int64_t end, int lane) {
    Count &self = *static_cast<Count *>(context);
    ++self.calls;
    if (lane < 0 || lane >= static_cast<int>(self.busy.size()) ||
        self.busy[static_cast<size_t>(lane)]++ != 0)
      ++self.violations;
    int32_t status = 0;
    for (int64_t task = begin; task < end; ++task) {
      ++self.runs[static_cast<size_t>(task)];
      if (task == self.failingTask)
        status = 7;
    }
    if (lane >= 0 && lane < static_cast<int>(self.busy.size()))
      --self.busy[static_cast<size_t>(lane)];
    return status;
  }
};

void spawnThreads(void *, int64_t count, void (*body)(void *, int64_t), void *bodyContext) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i)
    threads.emplace_back(body, bodyContext, i);
  for (std::thread &thread : threads)
    thread.join();
}

void reversedOnOneThread(void *, int64_t count, void (*body)(void *, int64_t), void *bodyContext) {
  while (count-- > 0)
    body(bodyContext, count);
}

std::vector<std::unique_ptr<TaskPool>> allPools() {
  std::vector<std::unique_ptr<TaskPool>> pools;
  pools.push_back(makeSerialPool());
  for (int threads : {1, 2, 3, 8})
    pools.push_back(std::move(*makeThreadPool(threads)));
  pools.push_back(makeCallerPool({spawnThreads, nullptr, 3}));
  pools.push_back(makeCallerPool({reversedOnOneThread, nullptr, 4}));
  return pools;
}

} // namespace

TEST(TaskPool, RunsEachTaskOnceOnALaneOfItsOwn) {
  for (std::unique_ptr<TaskPool> &pool : allPools())
    for (size_t tasks : {0, 1, 2, 3, 7, 64, 1000}) {
      Count count(tasks, pool->lanes());
      ASSERT_EQ(pool->run(static_cast<int64_t>(tasks), Count::body, &count), 0);
      for (std::atomic<int> &runs : count.runs)
        ASSERT_EQ(runs.load(), 1);
      ASSERT_EQ(count.violations.load(), 0);
    }
}

TEST(TaskPool, SurvivesManyShortSteps) {
  std::unique_ptr<TaskPool> pool = std::move(*makeThreadPool(3));
  for (int step = 0; step < 20000; ++step) {
    Count count(static_cast<size_t>(2 + step % 30), 3);
    ASSERT_EQ(pool->run(2 + step % 30, Count::body, &count), 0);
    for (std::atomic<int> &runs : count.runs)
      ASSERT_EQ(runs.load(), 1) << step;
    if (step % 50 == 0)
      pool->rest();
    if (step % 5000 == 0) // long enough for the threads to fall asleep
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
}

TEST(TaskPool, CutsMoreChunksThanLanes) {
  std::unique_ptr<TaskPool> pool = std::move(*makeThreadPool(2));
  Count count(1000, 2);
  pool->run(1000, Count::body, &count);
  EXPECT_GT(count.calls.load(), 2);
  EXPECT_LE(count.calls.load(), 16);
  Chunks chunks(10, 2);
  EXPECT_EQ(chunks.count, 8);
  EXPECT_EQ(chunks.begin(0), 0);
  EXPECT_EQ(chunks.begin(1), 2);
  EXPECT_EQ(chunks.begin(2), 4);
  EXPECT_EQ(chunks.begin(3), 5);
  EXPECT_EQ(chunks.begin(8), 10);
}

TEST(TaskPool, ReportsTheStatusOfAFailedTaskAndGoesOn) {
  for (std::unique_ptr<TaskPool> &pool : allPools()) {
    Count failing(100, pool->lanes());
    failing.failingTask = 42;
    EXPECT_EQ(pool->run(100, Count::body, &failing), 7);
    Count next(100, pool->lanes());
    EXPECT_EQ(pool->run(100, Count::body, &next), 0);
    for (std::atomic<int> &runs : next.runs)
      EXPECT_EQ(runs.load(), 1);
  }
}

TEST(TaskPool, OneThreadNeedsNoThread) {
  std::unique_ptr<TaskPool> pool = std::move(*makeThreadPool(1));
  std::thread::id self = std::this_thread::get_id();
  struct Check {
    std::thread::id expected;
    bool same = true;
  } check{self};
  pool->run(
      100,
      [](void *context, int64_t, int64_t, int) {
        Check &c = *static_cast<Check *>(context);
        c.same &= std::this_thread::get_id() == c.expected;
        return 0;
      },
      &check);
  EXPECT_TRUE(check.same);
  EXPECT_EQ(pool->lanes(), 1);
}

TEST(TaskPool, CountsAtLeastOneCore) {
  EXPECT_GE(usableCoreCount(), 1);
  EXPECT_LE(usableCoreCount(), static_cast<int>(std::thread::hardware_concurrency()));
}
