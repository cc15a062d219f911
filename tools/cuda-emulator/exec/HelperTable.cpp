// The table that the code generator links translated code against: the emulator's helpers, and what LLVM
// may call for intrinsics. libm's functions are listed because a library that a program loads by dlopen
// does not put its dependencies where a search of the process would find them.
#include "tools/cuda-emulator/exec/HelperTable.h"

#include "tools/cuda-emulator/exec/FloatHelpers.h"
#include "tools/cuda-emulator/exec/ThreadContext.h"

#include <cmath>
#include <cstring>

namespace nncc::cuemu {
namespace {

template <typename F> void *address(F *function) { return reinterpret_cast<void *>(function); }

#define HELPER(name) {#name, address(&name)}
#define FLOAT_FUNCTION(name) {#name "f", address(&name##f)}, {#name, address(static_cast<double (*)(double)>(&name))}

const Helper helpers[] = {
    HELPER(emuExit),         HELPER(emuTrap),          HELPER(emuYield),          HELPER(emuBarrier),
    HELPER(emuBarrierArrive), HELPER(emuBarrierReduce), HELPER(emuWarpSync),       HELPER(emuShuffle),
    HELPER(emuVote),         HELPER(emuMatch),         HELPER(emuRedux),          HELPER(emuActiveMask),
    HELPER(emuNanoseconds),  HELPER(emuClock),         HELPER(emuNanosleep),      HELPER(emuCheckAccess),
    HELPER(emuIsSpace),      HELPER(emuFence),         HELPER(emuEnterFrame),     HELPER(emuLeaveFrame),
    HELPER(emuCopyAsync),    HELPER(emuCopyCommit),    HELPER(emuCopyWait),       HELPER(emuMatrixMultiply),
    HELPER(emuLoadMatrix),   HELPER(emuMoveMatrix),    HELPER(emuStoreMatrix),    HELPER(emuPrintf),
    HELPER(emuAssertFail),   HELPER(emuRound32),       HELPER(emuRound64),        HELPER(emuIntToFloat32),
    HELPER(emuIntToFloat64), HELPER(emuDoubleToFloat), HELPER(emuDoubleToHalf),   HELPER(emuDoubleToBFloat),
    HELPER(emuFmaHalf),      HELPER(emuFmaBFloat),     HELPER(emuFloatToTf32),
    FLOAT_FUNCTION(exp2),    FLOAT_FUNCTION(log2),     FLOAT_FUNCTION(sin),       FLOAT_FUNCTION(cos),
    FLOAT_FUNCTION(tanh),    FLOAT_FUNCTION(floor),    FLOAT_FUNCTION(ceil),      FLOAT_FUNCTION(trunc),
    FLOAT_FUNCTION(round),   FLOAT_FUNCTION(rint),     FLOAT_FUNCTION(nearbyint), FLOAT_FUNCTION(roundeven),
    FLOAT_FUNCTION(sqrt),
    {"fmaf", address(&fmaf)},
    {"fma", address(static_cast<double (*)(double, double, double)>(&fma))},
    {"memcpy", address(static_cast<void *(*)(void *, const void *, size_t)>(&std::memcpy))},
    {"memmove", address(static_cast<void *(*)(void *, const void *, size_t)>(&std::memmove))},
    {"memset", address(static_cast<void *(*)(void *, int, size_t)>(&std::memset))},
};

} // namespace

std::span<const Helper> helperTable() { return helpers; }

} // namespace nncc::cuemu
