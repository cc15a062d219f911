// The helpers that translated code calls: each finds the thread's scheduler, or the checker, and has it do
// the work.
#include "tools/cuda-emulator/exec/BlockScheduler.h"
#include "tools/cuda-emulator/exec/Checker.h"
#include "tools/cuda-emulator/exec/MatrixOps.h"
#include "tools/cuda-emulator/exec/ThreadContext.h"

#include <chrono>
#include <cstring>

namespace nncc::cuemu {
namespace {

Checker *checkerOf(ThreadContext *thread) { return thread->scheduler->getLaunch().checker; }

} // namespace

extern "C" {

void emuExit(ThreadContext *thread) { thread->scheduler->exitThread(*thread); }

void emuTrap(ThreadContext *thread, uint32_t site) {
  thread->scheduler->fail(*thread, cuda::CUDA_ERROR_LAUNCH_FAILED, site, "trap");
}

void emuYield(ThreadContext *thread) { thread->scheduler->giveWay(*thread); }

void emuBarrier(ThreadContext *thread, uint32_t id, uint32_t threadCount, uint32_t aligned, uint32_t site) {
  thread->scheduler->barrier(*thread, id, threadCount, true, aligned, site);
}

void emuBarrierArrive(ThreadContext *thread, uint32_t id, uint32_t threadCount, uint32_t site) {
  thread->scheduler->barrier(*thread, id, threadCount, false, false, site);
}

uint32_t emuBarrierReduce(ThreadContext *thread, uint32_t id, uint32_t threadCount, uint32_t op, uint32_t predicate,
                          uint32_t site) {
  thread->scheduler->barrier(*thread, id, threadCount, true, true, site, predicate);
  return thread->scheduler->barrierResult(*thread, static_cast<ReduceOp>(op));
}

void emuWarpSync(ThreadContext *thread, uint32_t mask, uint32_t site) {
  WarpRequest request;
  request.mask = mask;
  request.site = site;
  thread->scheduler->collective(*thread, request);
}

uint64_t emuShuffle(ThreadContext *thread, uint32_t mode, uint32_t value, uint32_t b, uint32_t c, uint32_t mask,
                    uint32_t site) {
  WarpRequest request;
  request.kind = WarpRequest::Kind::Shuffle;
  request.mode = mode;
  request.mask = mask;
  request.site = site;
  request.value = value;
  request.b = b;
  request.c = c;
  return thread->scheduler->collective(*thread, request);
}

uint32_t emuVote(ThreadContext *thread, uint32_t mode, uint32_t predicate, uint32_t mask, uint32_t site) {
  WarpRequest request;
  request.kind = WarpRequest::Kind::Vote;
  request.mode = mode;
  request.mask = mask;
  request.site = site;
  request.value = predicate;
  return static_cast<uint32_t>(thread->scheduler->collective(*thread, request));
}

uint64_t emuMatch(ThreadContext *thread, uint32_t mode, uint64_t value, uint32_t mask, uint32_t site) {
  WarpRequest request;
  request.kind = WarpRequest::Kind::Match;
  request.mode = mode;
  request.mask = mask;
  request.site = site;
  request.value = value;
  return thread->scheduler->collective(*thread, request);
}

uint32_t emuRedux(ThreadContext *thread, uint32_t op, uint32_t value, uint32_t mask, uint32_t site) {
  WarpRequest request;
  request.kind = WarpRequest::Kind::Redux;
  request.mode = op;
  request.mask = mask;
  request.site = site;
  request.value = value;
  return static_cast<uint32_t>(thread->scheduler->collective(*thread, request));
}

// Which lanes run together is the device's choice; here each runs alone, which every program must accept.
uint32_t emuActiveMask(ThreadContext *thread) { return 1u << thread->lane; }

uint64_t emuNanoseconds() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

uint64_t emuClock() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void emuNanosleep(ThreadContext *thread, uint32_t) {
  for (int i = 0; i < 64; i++) // giveWay switches at every 64th call
    thread->scheduler->giveWay(*thread);
}

void emuCheckAccess(ThreadContext *thread, const void *address, uint32_t sizeBytes, uint32_t flags, uint32_t site) {
  checkerOf(thread)->access(*thread, address, sizeBytes, flags, site);
}

uint32_t emuIsSpace(ThreadContext *thread, const void *address, uint32_t space) {
  BlockScheduler &scheduler = *thread->scheduler;
  auto offset = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(scheduler.sharedBase());
  bool isShared = offset < scheduler.sharedBytes(), isLocal = scheduler.isOnStack(address);
  return space & AccessShared ? isShared : space & AccessLocal ? isLocal : !isShared && !isLocal;
}

void emuFence(ThreadContext *thread, uint32_t) { checkerOf(thread)->fence(*thread); }

void emuEnterFrame(ThreadContext *thread, const void *address, uint64_t sizeBytes) {
  checkerOf(thread)->enterFrame(*thread, address, sizeBytes);
}

void emuLeaveFrame(ThreadContext *thread, const void *address) { checkerOf(thread)->leaveFrame(*thread, address); }

void emuCopyAsync(ThreadContext *thread, void *shared, const void *global, uint32_t sizeBytes, uint32_t sourceBytes,
                  uint32_t site) {
  sourceBytes = std::min(sourceBytes, sizeBytes);
  if (Checker *checker = checkerOf(thread)) {
    checker->copyAsync(*thread, shared, global, sizeBytes, sourceBytes, site);
    return;
  }
  std::memcpy(shared, global, sourceBytes);
  std::memset(static_cast<uint8_t *>(shared) + sourceBytes, 0, sizeBytes - sourceBytes);
}

void emuCopyCommit(ThreadContext *thread) { checkerOf(thread)->copyCommit(*thread); }

void emuCopyWait(ThreadContext *thread, uint32_t pendingGroups) { checkerOf(thread)->copyWait(*thread, pendingGroups); }

// Matrix instructions are aligned: all lanes of the warp take part.
void emuMatrixMultiply(ThreadContext *thread, uint32_t shape, const MatrixOperands *operands, uint32_t site) {
  WarpRequest request;
  request.kind = WarpRequest::Kind::Multiply;
  request.mode = shape;
  request.mask = ~0u;
  request.site = site;
  request.input = operands;
  thread->scheduler->collective(*thread, request);
}

void emuLoadMatrix(ThreadContext *thread, uint32_t count, uint32_t transposed, const void *row, uint32_t *results,
                   uint32_t site) {
  // Lanes 0 to 8 * count - 1 name the rows that are read.
  if (Checker *checker = checkerOf(thread); checker && thread->lane < 8 * count)
    checker->access(*thread, row, 16, 0, site);
  WarpRequest request;
  request.kind = WarpRequest::Kind::LoadMatrix;
  request.mode = count | transposed << 8;
  request.mask = ~0u;
  request.site = site;
  request.input = row;
  request.output = results;
  thread->scheduler->collective(*thread, request);
}

void emuStoreMatrix(ThreadContext *thread, uint32_t count, uint32_t transposed, void *row, const uint32_t *values,
                    uint32_t site) {
  if (Checker *checker = checkerOf(thread); checker && thread->lane < 8 * count)
    checker->access(*thread, row, 16, AccessWrite, site);
  WarpRequest request;
  request.kind = WarpRequest::Kind::StoreMatrix;
  request.mode = count | transposed << 8;
  request.mask = ~0u;
  request.site = site;
  request.input = values;
  request.output = row;
  thread->scheduler->collective(*thread, request);
}

void emuMoveMatrix(ThreadContext *thread, uint32_t value, uint32_t *result, uint32_t site) {
  WarpRequest request;
  request.kind = WarpRequest::Kind::MoveMatrix;
  request.mask = ~0u;
  request.site = site;
  request.value = value;
  request.output = result;
  thread->scheduler->collective(*thread, request);
}

void emuAssertFail(ThreadContext *thread, const char *message, const char *file, uint32_t line, const char *function,
                   uint32_t site) {
  thread->scheduler->fail(*thread, cuda::CUDA_ERROR_ASSERT, site,
                          std::string(file) + ":" + std::to_string(line) + ": " + function + ": assertion `" + message +
                              "' failed");
}

} // extern "C"

} // namespace nncc::cuemu
