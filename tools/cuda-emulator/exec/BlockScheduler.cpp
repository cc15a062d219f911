// See BlockScheduler.h.
#include "tools/cuda-emulator/exec/BlockScheduler.h"

#include "tools/cuda-emulator/exec/Checker.h"

#include <bit>
#include <chrono>
#include <memory>

namespace nncc::cuemu {
namespace {

thread_local BlockScheduler *runningScheduler = nullptr;

// Kept between launches: making a thousand stacks takes longer than most kernels.
StackSlab &threadStacks() {
  thread_local StackSlab slab;
  return slab;
}

double nowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr size_t baseStackBytes = 64 << 10;
constexpr size_t sharedAlignment = 1024;

} // namespace

BlockScheduler *BlockScheduler::running() { return runningScheduler; }

BlockScheduler::BlockScheduler(Launch &launch, uint32_t worker)
    : launch(launch), stacks(threadStacks()), emergencyStack(64 << 10), random(launch.seed + worker) {
  threadCount = launch.threadsPerBlock();
  warpCount = (threadCount + 31) / 32;
  fibers.resize(threadCount);
  ready.resize(threadCount);
  doneLanes.resize(warpCount);
  // Frames of nested calls may hold .local variables each.
  stacks.reserve(threadCount, baseStackBytes + 4 * static_cast<size_t>(launch.kernel->localBytes));
  sharedSizeBytes = static_cast<size_t>(launch.kernel->sharedWindowBytes) + launch.dynamicSharedBytes;
  sharedStorage.resize(sharedSizeBytes + 2 * sharedAlignment);
  auto start = reinterpret_cast<uintptr_t>(sharedStorage.data());
  sharedMemory = sharedStorage.data() + (sharedAlignment - start % sharedAlignment) % sharedAlignment;
  startSeconds = nowSeconds();
}

BlockScheduler::~BlockScheduler() = default;

void BlockScheduler::setUp(uint64_t block) {
  readyBegin = readyCount = 0;
  live = threadCount;
  for (Barrier &barrier : barriers) {
    barrier.arrived = barrier.trueCount = 0;
    barrier.waiting.clear();
  }
  for (uint32_t warp = 0; warp < warpCount; warp++) {
    uint32_t lanes = std::min(32u, threadCount - warp * 32);
    doneLanes[warp] = lanes == 32 ? 0 : ~0u << lanes;
  }
  const uint32_t *size = launch.block;
  for (uint32_t i = 0; i < threadCount; i++) {
    Fiber &fiber = fibers[i];
    ThreadContext &context = fiber.context;
    context.shared = sharedMemory;
    context.parameters = launch.parameters;
    context.tid[0] = i % size[0];
    context.tid[1] = i / size[0] % size[1];
    context.tid[2] = i / (size[0] * size[1]);
    context.ctaid[0] = static_cast<uint32_t>(block % launch.grid[0]);
    context.ctaid[1] = static_cast<uint32_t>(block / launch.grid[0] % launch.grid[1]);
    context.ctaid[2] = static_cast<uint32_t>(block / launch.grid[0] / launch.grid[1]);
    for (int d = 0; d < 3; d++) {
      context.ntid[d] = launch.block[d];
      context.nctaid[d] = launch.grid[d];
    }
    context.lane = i % 32;
    context.warp = i / 32;
    context.thread = i;
    context.dynamicSharedOffset = static_cast<uint32_t>(launch.kernel->sharedWindowBytes);
    context.dynamicSharedBytes = launch.dynamicSharedBytes;
    context.multiprocessor = static_cast<uint32_t>(block % launch.multiprocessorCount);
    context.multiprocessorCount = launch.multiprocessorCount;
    context.gridId = launch.gridId;
    context.scheduler = this;
    fiber.state = State::Ready;
    fiber.stackPointer = prepareStack(stacks.top(i), &BlockScheduler::fiberEntry);
    makeReady(i);
  }
}

void BlockScheduler::runBlock(uint64_t block) {
  setUp(block);
  if (launch.checker)
    launch.checker->beginBlock(*this, block);
  BlockScheduler *outer = runningScheduler;
  runningScheduler = this;
  if (readyCount > 0) {
    current = ready[readyBegin];
    readyBegin = (readyBegin + 1) % ready.size();
    readyCount--;
    emuSwitchStack(&schedulerStack, fibers[current].stackPointer);
  }
  // Back here when no thread can run: the block is done, stuck, or the launch has failed.
  runningScheduler = outer;
  if (live > 0 && !launch.hasFailed())
    reportStall();
}

void BlockScheduler::fiberEntry() { runningScheduler->enter(); }

void BlockScheduler::enter() {
  ThreadContext &context = fibers[current].context;
  launch.kernel->code(&context);
  exitThread(context);
}

// Threads run in the order in which they became able to, or in a random one.
void BlockScheduler::makeReady(uint32_t thread) {
  fibers[thread].state = State::Ready;
  size_t end = (readyBegin + readyCount) % ready.size();
  ready[end] = thread;
  readyCount++;
  if (launch.seed != 0)
    std::swap(ready[end], ready[(readyBegin + random() % readyCount) % ready.size()]);
}

void BlockScheduler::switchToNext() {
  Fiber &from = fibers[current];
  if (readyCount == 0 || launch.hasFailed()) {
    emuSwitchStack(&from.stackPointer, schedulerStack);
    return;
  }
  uint32_t next = ready[readyBegin];
  readyBegin = (readyBegin + 1) % ready.size();
  readyCount--;
  if (next == current)
    return;
  current = next;
  emuSwitchStack(&from.stackPointer, fibers[next].stackPointer);
}

void BlockScheduler::abandon() {
  emuSwitchStack(&fibers[current].stackPointer, schedulerStack);
  __builtin_unreachable();
}

void BlockScheduler::fail(ThreadContext &thread, cuda::CUresult code, uint32_t site, const std::string &what) {
  launch.fail(code, what + "\n  by " + describeThread(launch, thread) + "\n  at " + describeSite(*launch.module, site));
  abandon();
}

// A wait in a loop: every so often another thread has its turn.
void BlockScheduler::giveWay(ThreadContext &thread) {
  if (++spins % 64 != 0)
    return;
  if (launch.timeLimitSeconds > 0 && spins % 4096 == 0 && nowSeconds() - startSeconds > launch.timeLimitSeconds) {
    launch.fail(cuda::CUDA_ERROR_LAUNCH_TIMEOUT,
                "the launch runs longer than its time limit\n  by " + describeThread(launch, thread));
    abandon();
  }
  makeReady(current);
  switchToNext();
}

void BlockScheduler::exitThread(ThreadContext &thread) {
  fibers[current].state = State::Done;
  live--;
  doneLanes[thread.warp] |= 1u << thread.lane;
  if (launch.checker)
    launch.checker->exitThread(thread);
  completeBarrierAfterExit();
  // Lanes that waited for this one.
  for (uint32_t lane = 0; lane < 32; lane++) {
    uint32_t other = thread.warp * 32 + lane;
    if (launch.checker && other < threadCount && fibers[other].state == State::InCollective &&
        fibers[other].request.mask >> thread.lane & 1) {
      launch.fail(cuda::CUDA_ERROR_LAUNCH_FAILED,
                  "a lane leaves the kernel while others of its warp wait for it\n  by " + describeThread(launch, thread) +
                      "\n  lane " + std::to_string(lane) + " waits at " +
                      describeSite(*launch.module, fibers[other].request.site));
      abandon();
    }
    if (other < threadCount && fibers[other].state == State::InCollective && completeCollective(other))
      makeReady(other);
  }
  switchToNext();
  __builtin_unreachable();
}

// --- Barriers.

void BlockScheduler::barrier(ThreadContext &thread, uint32_t id, uint32_t count, bool waits, bool isAligned,
                             uint32_t site, uint32_t predicate) {
  if (id >= barriers.size())
    fail(thread, cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION, site, "barrier " + std::to_string(id) + " does not exist");
  Barrier &barrier = barriers[id];
  if (barrier.arrived == 0) {
    barrier.expected = count;
    barrier.site = site;
    barrier.firstThread = thread.thread;
  } else if (launch.checker) {
    if (barrier.expected != count)
      fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, site, "threads give different counts for one barrier");
    if (isAligned && count == 0 && barrier.site != site)
      fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, site,
           "divergent barrier: thread " + std::to_string(barrier.firstThread) + " waits at " +
               describeSite(*launch.module, barrier.site));
  }
  if (launch.checker && count == 0 && live < threadCount)
    fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, site,
         "divergent barrier: " + std::to_string(threadCount - live) + " of " + std::to_string(threadCount) +
             " threads have left the kernel");
  barrier.arrived++;
  barrier.trueCount += predicate;
  Fiber &fiber = fibers[thread.thread];
  fiber.barrierSite = site;
  if (waits)
    barrier.waiting.push_back(thread.thread);
  if (barrier.arrived >= (barrier.expected == 0 ? live : barrier.expected)) {
    // The thread that completes the barrier goes on at once, unless the order is random.
    completeBarrier(barrier, waits ? thread.thread : threadCount);
    if (!waits || launch.seed == 0)
      return;
    makeReady(thread.thread);
  } else if (waits) {
    fiber.state = State::AtBarrier;
  } else {
    return;
  }
  switchToNext();
}

// Makes the waiting threads ready, but for `running`.
void BlockScheduler::completeBarrier(Barrier &barrier, uint32_t running) {
  for (uint32_t thread : barrier.waiting) {
    Fiber &fiber = fibers[thread];
    fiber.popularity = barrier.trueCount;
    fiber.all = barrier.trueCount == barrier.arrived;
    fiber.any = barrier.trueCount > 0;
  }
  if (launch.checker)
    launch.checker->barrierCompleted();
  barrier.arrived = barrier.trueCount = 0;
  std::vector<uint32_t> released;
  released.swap(barrier.waiting);
  for (uint32_t thread : released)
    if (thread != running)
      makeReady(thread);
  released.clear();
  barrier.waiting.swap(released); // keeps its memory
}

void BlockScheduler::completeBarrierAfterExit() {
  if (live == 0)
    return;
  for (Barrier &barrier : barriers) {
    if (barrier.arrived == 0 || barrier.expected != 0)
      continue;
    if (launch.checker) {
      Fiber &waiting = fibers[barrier.firstThread];
      launch.fail(cuda::CUDA_ERROR_LAUNCH_FAILED,
                  "divergent barrier: a thread leaves the kernel while others wait\n  by " +
                      describeThread(launch, fibers[current].context) + "\n  thread " +
                      std::to_string(waiting.context.thread) + " waits at " +
                      describeSite(*launch.module, barrier.site));
      abandon();
    }
    if (barrier.arrived >= live)
      completeBarrier(barrier, threadCount);
  }
}

uint32_t BlockScheduler::barrierResult(const ThreadContext &thread, ReduceOp op) const {
  const Fiber &fiber = fibers[thread.thread];
  return op == ReduceOp::PopulationCount ? fiber.popularity : op == ReduceOp::And ? fiber.all : fiber.any;
}

// --- Collectives of a warp.

uint32_t BlockScheduler::liveLanes(uint32_t warp) const { return ~doneLanes[warp]; }

uint64_t BlockScheduler::collective(ThreadContext &thread, WarpRequest request) {
  uint32_t own = 1u << thread.lane;
  if (launch.checker) {
    if (!(request.mask & own))
      fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, request.site, "the member mask does not name the executing lane");
    uint32_t existing = threadCount - thread.warp * 32 >= 32 ? ~0u : (1u << (threadCount - thread.warp * 32)) - 1;
    if (uint32_t gone = request.mask & existing & doneLanes[thread.warp])
      fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, request.site,
           "the member mask names " + std::to_string(std::popcount(gone)) + " lanes that have left the kernel");
  }
  request.mask |= own;
  Fiber &fiber = fibers[thread.thread];
  fiber.request = request;
  fiber.state = State::InCollective;
  if (completeCollective(thread.thread))
    fiber.state = State::Ready;
  else
    switchToNext();
  return fiber.request.result;
}

// If every live lane that the thread's request names waits with an equal one, computes the results and makes
// the other lanes ready.
bool BlockScheduler::completeCollective(uint32_t thread) {
  const WarpRequest &wanted = fibers[thread].request;
  uint32_t warp = thread / 32;
  uint32_t lanes = wanted.mask & liveLanes(warp);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const Fiber &fiber = fibers[warp * 32 + static_cast<uint32_t>(std::countr_zero(rest))];
    if (fiber.state != State::InCollective || fiber.request.kind != wanted.kind ||
        fiber.request.mode != wanted.mode || fiber.request.mask != wanted.mask)
      return false;
  }
  computeCollective(warp, lanes);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    uint32_t other = warp * 32 + static_cast<uint32_t>(std::countr_zero(rest));
    if (other != thread)
      makeReady(other);
  }
  return true;
}

void BlockScheduler::computeCollective(uint32_t warp, uint32_t lanes) {
  switch (fibers[warp * 32 + static_cast<uint32_t>(std::countr_zero(lanes))].request.kind) {
  case WarpRequest::Kind::Sync:
    if (launch.checker)
      launch.checker->warpSynced(warp, lanes);
    return;
  case WarpRequest::Kind::Shuffle:
    return computeShuffle(warp, lanes);
  case WarpRequest::Kind::Vote:
    return computeVote(warp, lanes);
  case WarpRequest::Kind::Match:
    return computeMatch(warp, lanes);
  case WarpRequest::Kind::Redux:
    return computeRedux(warp, lanes);
  case WarpRequest::Kind::LoadMatrix:
    return computeLoadMatrix(warp);
  case WarpRequest::Kind::StoreMatrix:
    return computeStoreMatrix(warp);
  case WarpRequest::Kind::MoveMatrix:
    return computeMoveMatrix(warp);
  case WarpRequest::Kind::Multiply:
    return computeMultiply(warp);
  }
}

// No thread can go on and some have not ended: on a device the kernel would hang.
void BlockScheduler::reportStall() {
  std::string text = "the kernel '" + launch.kernel->name + "' hangs: " + std::to_string(threadCount - live) +
                     " threads of the block have ended";
  int shown = 0;
  for (const Fiber &fiber : fibers) {
    if (fiber.state == State::Done || fiber.state == State::Ready || shown == 4)
      continue;
    shown++;
    bool isBarrier = fiber.state == State::AtBarrier;
    text += "\n  " + describeThread(launch, fiber.context) +
            (isBarrier ? "\n    waits for a barrier at " : "\n    waits for lanes of its warp at ") +
            describeSite(*launch.module, isBarrier ? fiber.barrierSite : fiber.request.site);
  }
  launch.fail(cuda::CUDA_ERROR_LAUNCH_FAILED, text);
}

} // namespace nncc::cuemu
