// What translated code and the runtime under it agree on: the context that every translated function
// gets as its first argument, the numbers that select an operation in a helper call, and the helpers
// themselves. Translated code reads the fields by their offsets in this struct.
#pragma once

#include <cstdint>

namespace nncc::cuemu {

class BlockScheduler;

/// One thread of a block. Lives in the scheduler, one per fiber.
struct ThreadContext {
  uint8_t *shared = nullptr;           ///< the block's shared memory; offset 0 of the .shared window
  const uint8_t *parameters = nullptr; ///< the launch's parameter buffer
  uint32_t tid[3] = {};
  uint32_t ctaid[3] = {};
  uint32_t ntid[3] = {};
  uint32_t nctaid[3] = {};
  uint32_t lane = 0;                ///< within the warp
  uint32_t warp = 0;                ///< within the block
  uint32_t thread = 0;              ///< linear, within the block
  uint32_t dynamicSharedOffset = 0; ///< where dynamic shared memory begins in the window
  uint32_t dynamicSharedBytes = 0;
  uint32_t multiprocessor = 0;
  uint32_t multiprocessorCount = 0;
  uint64_t gridId = 0;
  BlockScheduler *scheduler = nullptr;
};

enum class ShuffleMode : uint32_t { Up, Down, Butterfly, Index };
enum class VoteMode : uint32_t { All, Any, Uniform, Ballot };
enum class MatchMode : uint32_t { Any, All };
enum class ReduceOp : uint32_t { And, Or, Xor, Add, MinSigned, MinUnsigned, MaxSigned, MaxUnsigned, PopulationCount };
enum class Rounding : uint32_t { NearestEven, Zero, MinusInfinity, PlusInfinity, NearestAway };

/// How a memory access is made; a bit set.
enum AccessFlag : uint32_t {
  AccessWrite = 1,
  AccessAtomic = 2,   ///< reads and writes in one step
  AccessShared = 4,   ///< the instruction names the .shared space
  AccessGlobal = 8,   ///< .global or .const
  AccessLocal = 16,
  AccessVolatile = 32, ///< volatile or relaxed: may race with others of its kind
  AccessAcquire = 64,
  AccessRelease = 128,
};

/// The fragments of one matrix instruction of one lane; see exec/MatrixOps.h.
struct MatrixOperands {
  uint32_t *d;
  const uint32_t *a;
  const uint32_t *b;
  const uint32_t *c;
};

// `site` is the index of the instruction in the module; reports name its line.
extern "C" {
void emuExit(ThreadContext *thread);
void emuTrap(ThreadContext *thread, uint32_t site);
void emuYield(ThreadContext *thread);
void emuBarrier(ThreadContext *thread, uint32_t id, uint32_t threadCount, uint32_t aligned,
                uint32_t site);
void emuBarrierArrive(ThreadContext *thread, uint32_t id, uint32_t threadCount, uint32_t site);
uint32_t emuBarrierReduce(ThreadContext *thread, uint32_t id, uint32_t threadCount, uint32_t op,
                          uint32_t predicate, uint32_t site);
void emuWarpSync(ThreadContext *thread, uint32_t mask, uint32_t site);
/// Low 32 bits: the value; bit 32: whether the source lane was in range.
uint64_t emuShuffle(ThreadContext *thread, uint32_t mode, uint32_t value, uint32_t b, uint32_t c,
                    uint32_t mask, uint32_t site);
uint32_t emuVote(ThreadContext *thread, uint32_t mode, uint32_t predicate, uint32_t mask,
                 uint32_t site);
/// Low 32 bits: the mask; bit 32: the predicate.
uint64_t emuMatch(ThreadContext *thread, uint32_t mode, uint64_t value, uint32_t mask,
                  uint32_t site);
uint32_t emuRedux(ThreadContext *thread, uint32_t op, uint32_t value, uint32_t mask, uint32_t site);
uint32_t emuActiveMask(ThreadContext *thread);
uint64_t emuNanoseconds();
uint64_t emuClock();
void emuNanosleep(ThreadContext *thread, uint32_t nanoseconds);

void emuCheckAccess(ThreadContext *thread, const void *address, uint32_t sizeBytes, uint32_t flags,
                    uint32_t site);
/// Whether the generic address lies in the space that one of AccessShared, -Local, -Global names.
uint32_t emuIsSpace(ThreadContext *thread, const void *address, uint32_t space);
void emuFence(ThreadContext *thread, uint32_t site);
void emuEnterFrame(ThreadContext *thread, const void *address, uint64_t sizeBytes);
void emuLeaveFrame(ThreadContext *thread, const void *address);

void emuCopyAsync(ThreadContext *thread, void *shared, const void *global, uint32_t sizeBytes,
                  uint32_t sourceBytes, uint32_t site);
void emuCopyCommit(ThreadContext *thread);
void emuCopyWait(ThreadContext *thread, uint32_t pendingGroups);

void emuMatrixMultiply(ThreadContext *thread, uint32_t shape, const MatrixOperands *operands,
                       uint32_t site);
void emuLoadMatrix(ThreadContext *thread, uint32_t count, uint32_t transposed, const void *row,
                   uint32_t *results, uint32_t site);
void emuMoveMatrix(ThreadContext *thread, uint32_t value, uint32_t *result, uint32_t site);
void emuStoreMatrix(ThreadContext *thread, uint32_t count, uint32_t transposed, void *row,
                    const uint32_t *values, uint32_t site);

int32_t emuPrintf(ThreadContext *thread, const char *format, const void *arguments);
void emuAssertFail(ThreadContext *thread, const char *message, const char *file, uint32_t line,
                   const char *function, uint32_t site);
}

} // namespace nncc::cuemu
