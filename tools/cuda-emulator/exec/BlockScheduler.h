// Executes the blocks of a launch on one host thread: every CUDA thread is a fiber that runs until it has
// to wait, for a barrier, for lanes of its warp, or because it gives way. What the threads of a block wait
// for stands here; what a warp's lanes compute together stands in WarpOps.cpp and MatrixOps.cpp.
#pragma once

#include "tools/cuda-emulator/exec/Fiber.h"
#include "tools/cuda-emulator/exec/Launch.h"
#include "tools/cuda-emulator/exec/ThreadContext.h"

#include <array>
#include <random>
#include <vector>

namespace nncc::cuemu {

/// What a lane brings to a collective of its warp, and takes from it.
struct WarpRequest {
  enum class Kind : uint8_t { Sync, Shuffle, Vote, Match, Redux, LoadMatrix, StoreMatrix, MoveMatrix, Multiply };
  Kind kind = Kind::Sync;
  uint32_t mode = 0;  ///< selects the operation within the kind; equal for all lanes
  uint32_t mask = 0;  ///< member mask as given
  uint32_t site = 0;
  uint64_t value = 0;
  uint32_t b = 0, c = 0;
  const void *input = nullptr;
  void *output = nullptr;
  uint64_t result = 0;
};

class BlockScheduler {
public:
  explicit BlockScheduler(Launch &launch, uint32_t worker);
  ~BlockScheduler();

  /// Runs one block to its end, or until the launch has failed.
  void runBlock(uint64_t block);

  // --- Called on fibers, by the helpers.
  void barrier(ThreadContext &thread, uint32_t id, uint32_t threadCount, bool waits, bool isAligned, uint32_t site,
               uint32_t predicate = 0);
  uint32_t barrierResult(const ThreadContext &thread, ReduceOp op) const;
  /// Waits until all live lanes of the mask have brought an equal request, and returns this lane's result.
  uint64_t collective(ThreadContext &thread, WarpRequest request);
  void giveWay(ThreadContext &thread);
  [[noreturn]] void exitThread(ThreadContext &thread);
  /// Ends the launch with a message that names the thread and the instruction.
  [[noreturn]] void fail(ThreadContext &thread, cuda::CUresult code, uint32_t site, const std::string &what);
  [[noreturn]] void abandon();

  Launch &getLaunch() { return launch; }
  uint8_t *sharedBase() { return sharedMemory; }
  size_t sharedBytes() const { return sharedSizeBytes; }
  bool isOnStack(const void *address) const { return stacks.contains(address); }
  uint32_t liveThreads() const { return live; }
  /// The scheduler whose fiber runs on this host thread now, if any.
  static BlockScheduler *running();
  ThreadContext &currentThread() { return fibers[current].context; }
  uint8_t *emergencyStackTop() { return emergencyStack.data() + emergencyStack.size() - 64; }

private:
  enum class State : uint8_t { Ready, AtBarrier, InCollective, Done };
  struct Fiber {
    ThreadContext context;
    void *stackPointer = nullptr;
    State state = State::Ready;
    WarpRequest request;
    uint32_t barrierSite = 0;
    uint32_t popularity = 0, all = 0, any = 0; ///< results of a barrier's reduction
  };
  struct Barrier {
    uint32_t expected = 0; ///< 0: all threads that live
    uint32_t arrived = 0;
    uint32_t site = 0, firstThread = 0;
    uint32_t trueCount = 0;
    std::vector<uint32_t> waiting;
  };

  void enter();
  static void fiberEntry();
  void setUp(uint64_t block);
  void switchToNext();
  void makeReady(uint32_t thread);
  void completeBarrier(Barrier &barrier, uint32_t running);
  void completeBarrierAfterExit();
  uint32_t liveLanes(uint32_t warp) const;
  bool completeCollective(uint32_t thread);
  void computeCollective(uint32_t warp, uint32_t lanes);
  void reportStall();

  // WarpOps.cpp and MatrixOps.cpp.
  WarpRequest &request(uint32_t warp, uint32_t lane) { return fibers[warp * 32 + lane].request; }
  void computeShuffle(uint32_t warp, uint32_t lanes);
  void computeVote(uint32_t warp, uint32_t lanes);
  void computeMatch(uint32_t warp, uint32_t lanes);
  void computeRedux(uint32_t warp, uint32_t lanes);
  void computeLoadMatrix(uint32_t warp);
  void computeStoreMatrix(uint32_t warp);
  void computeMoveMatrix(uint32_t warp);
  void computeMultiply(uint32_t warp);

  Launch &launch;
  std::vector<Fiber> fibers;
  StackSlab &stacks;
  std::vector<uint8_t> emergencyStack;
  std::vector<uint8_t> sharedStorage;
  uint8_t *sharedMemory = nullptr;
  size_t sharedSizeBytes = 0;
  std::array<Barrier, 16> barriers;
  std::vector<uint32_t> doneLanes; ///< per warp: lanes that exited or do not exist
  std::vector<uint32_t> ready;     ///< ring buffer of threads that can run
  size_t readyBegin = 0, readyCount = 0;
  void *schedulerStack = nullptr;
  uint32_t current = 0, live = 0, threadCount = 0, warpCount = 0;
  uint32_t spins = 0;
  double startSeconds = 0;
  std::mt19937_64 random;
};

} // namespace nncc::cuemu
