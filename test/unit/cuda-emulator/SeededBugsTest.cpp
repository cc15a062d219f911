// Kernels with one bug each, all of kinds that really happen. Checked mode must stop each with the right error,
// and say in the report what is wrong, where and by whom.
#include "test/unit/cuda-emulator/CheckedMode.h"

#include <regex>

namespace nncc::cuemu::test {
namespace {

struct Bug {
  const char *name;
  std::string text;
  Shape shape;
  CUresult error;
  const char *report; ///< a regular expression that the report must contain
};

void PrintTo(const Bug &bug, std::ostream *stream) { *stream << bug.name; }

const char *loadNeighbour = "xor.b32 %r4, %r2, 128; add.u32 %r5, %r9, %r4; ld.shared.u32 %r6, [%r5]; ";
const char *store = "st.shared.u32 [%r10], %r3; ";
const char *dynamicShared = ".extern .shared .align 16 .b8 dyn[];\n";
// cp.async of 16 bytes by each of the first 16 threads into s, and reading it back.
const char *copy = "setp.ge.u32 %p1, %r0, 16; @%p1 bra copied; shl.b32 %r11, %r0, 4; add.u32 %r12, %r9, %r11; "
                   "cvt.u64.u32 %d5, %r11; add.u64 %d6, %d0, %d5; cp.async.cg.shared.global [%r12], [%d6], 16;\ncopied:\n";

std::vector<Bug> bugs() {
  auto launchFailed = CUDA_ERROR_LAUNCH_FAILED;
  auto illegalAddress = CUDA_ERROR_ILLEGAL_ADDRESS;
  auto misaligned = CUDA_ERROR_MISALIGNED_ADDRESS;
  std::string s = store, n = loadNeighbour;
  return {
      {"missingBarrierBeforeRead", kernel(withShared(s + n)), {1, 64}, launchFailed,
       R"((race \((read after write|write after read)\) on s at byte \d+ with thread \d+, at PTX line 6: .*|uninitialised read of s at byte .*is a barrier missing.*)\n  by kernel 'k', block \(0,0,0\), thread \(\d+,0,0\)\n  at PTX line 6)"},
      {"missingBarrierAfterRead", kernel(withShared(s + "bar.sync 0;\n" + n + "\nst.shared.u32 [%r10], %r6;")), {1, 64},
       launchFailed, R"(race \((write after read|read after write)\) on s at byte)"},
      {"missingBarrierInLoop",
       kernel(withShared("mov.u32 %r7, 0;\nagain:\n" + s + "bar.sync 0;\n" + n +
                         "add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 3; @%p2 bra again;")),
       {1, 64}, launchFailed, R"(race \()"},
      {"barrierInOneBranch",
       kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bra left;\nbar.sync 0; bra end;\nleft:\nbar.sync 0;\nend:"), {1, 64},
       launchFailed, R"(divergent barrier: thread \d+ waits at PTX line \d+: bar\.sync)"},
      {"barrierAfterEarlyExit", kernel("setp.ge.u32 %p1, %r0, 48; @%p1 ret; bar.sync 0;"), {1, 64}, launchFailed,
       R"(divergent barrier: (a thread leaves|\d+ of 64 threads have left))"},
      {"barrierWithTwoCounts",
       kernel("setp.lt.u32 %p1, %r0, 32; selp.b32 %r4, 64, 32, %p1; barrier.sync 1, %r4;"), {1, 64}, launchFailed,
       R"(different counts for one barrier)"},
      {"barrierCountNeverReached", kernel("setp.lt.u32 %p1, %r0, 32; @%p1 barrier.sync 1, 64;"), {1, 64}, launchFailed,
       R"(hangs: 32 threads of the block have ended)"},
      {"twoThreadsWriteOneWord", kernel(withShared("and.b32 %r4, %r2, 124; add.u32 %r5, %r9, %r4; st.shared.u32 [%r5], %r3;")),
       {1, 64}, launchFailed, R"(race \(write after write\) on s)"},
      {"blocksWriteOneWord", kernel("st.global.u32 [%d4], %r3;"), {2, 64}, launchFailed,
       R"(race \(write after write, between blocks\) on allocation \d+ at byte \d+ with thread \d+ of block)"},
      {"blockReadsWhatAnotherWrites",
       kernel("setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%d3], %r0; @!%p1 ld.global.u32 %r4, [%d3];"), {2, 64},
       launchFailed, R"(race \((read after write|write after read))"},
      {"plainWriteAgainstAtomic",
       kernel("setp.eq.u32 %p1, %r1, 0; @%p1 red.global.add.u32 [%d3], 1; @!%p1 st.global.u32 [%d3], %r0;"), {2, 64},
       launchFailed, R"(between blocks\))"},
      {"lastBlockWithoutFence",
       kernel("setp.ne.u32 %p1, %r0, 0; @%p1 bra end; mul.wide.u32 %d5, %r1, 4; add.u64 %d6, %d1, %d5; add.u64 %d6, %d6, 128;\n"
              "st.global.u32 [%d6], %r3;\natom.global.inc.u32 %r5, [%d0], 1;\nld.global.u32 %r6, [%d1+128]; ld.global.u32 %r7, [%d1+132];\nend:"),
       {2, 32}, launchFailed, R"(between blocks\)|uninitialised read)"},
      {"globalReadPastTheEnd", kernel("ld.global.u32 %r4, [%d3+4];"), {1, 64}, illegalAddress,
       R"(out of bounds: 4-byte read; allocation \d+ has 256 bytes; the access is 256 bytes after its start\n  by kernel 'k', block \(0,0,0\), thread \(63,0,0\)\n  at PTX line 5: ld\.global\.u32)"},
      {"globalWriteBeforeTheStart", kernel("st.global.u32 [%d4+-4], %r3;"), {1, 64}, illegalAddress,
       R"(out of bounds: 4-byte write; .* 4 bytes before its start)"},
      {"vectorReadPastTheEnd", kernel("and.b32 %r4, %r0, 3; setp.eq.u32 %p1, %r0, 62; @%p1 ld.global.v2.u64 {%d5, %d6}, [%d3];"),
       {1, 64}, illegalAddress, R"(out of bounds: 16-byte read)"},
      {"staticSharedPastTheEnd", kernel(withShared("st.shared.u32 [%r10+4], %r3;")), {1, 64}, illegalAddress,
       R"(out of bounds: 4-byte write; shared variable s has 256 bytes; the access is at byte \d+)"},
      {"dynamicSharedPastTheEnd",
       kernel("mov.u32 %r9, dyn; add.u32 %r10, %r9, %r2; st.shared.u32 [%r10], %r3;", dynamicShared), {1, 64, 128},
       illegalAddress, R"(dynamic shared memory has 128 bytes; the access is at byte \d+)"},
      {"localPastTheEnd",
       kernel(".local .align 8 .b8 depot[16]; mov.u64 %d5, depot; mul.wide.u32 %d6, %r0, 4; add.u64 %d7, %d5, %d6; "
              "st.local.u32 [%d7], %r3;"),
       {1, 5}, illegalAddress, R"(in no local variable of the thread\n  by .*thread \(4,0,0\))"},
      {"nullPointer", kernel("mov.u64 %d5, 0; ld.u32 %r4, [%d5];"), {1, 1}, illegalAddress, R"(out of bounds: 4-byte read)"},
      {"uninitialisedGlobal", kernel("ld.global.u32 %r4, [%d4];"), {1, 64}, launchFailed,
       R"(uninitialised read of allocation \d+ at byte)"},
      {"uninitialisedShared",
       kernel(withShared("setp.lt.u32 %p1, %r0, 60; @%p1 st.shared.u32 [%r10], %r3; bar.sync 0;\nld.shared.u32 %r4, [%r9+244];")),
       {1, 64}, launchFailed, R"(uninitialised read of s at byte \d+ .*\n  by .*\n  at PTX line 7)"},
      {"uninitialisedLocal", kernel(".local .align 8 .b8 depot[16]; st.local.u32 [depot], %r0; ld.local.u32 %r4, [depot+8];"),
       {1, 1}, launchFailed, R"(uninitialised read of local memory at byte 8)"},
      {"uninitialisedAtomic", kernel("red.global.add.u32 [%d4], 1;"), {1, 1}, launchFailed, R"(uninitialised atomic operation)"},
      {"misalignedGlobalVector", kernel("ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d0+4];"), {1, 1}, misaligned,
       R"(misaligned 16-byte read at byte 4 of allocation)"},
      {"misalignedShared", kernel(withShared("st.shared.u32 [%r9+2], %r3;")), {1, 1}, misaligned,
       R"(misaligned 4-byte write at byte \d+ of s)"},
      {"missingCopyWait", kernel(withShared(std::string(copy) + "cp.async.commit_group;\nbar.sync 0;\nld.shared.u32 %r4, [%r10];")),
       {1, 64}, launchFailed, R"(missing wait: read of s at byte \d+, which a cp\.async at PTX line 6: cp\.async\.cg\.shared\.global has not delivered)"},
      {"waitForTheWrongGroup",
       kernel(withShared(std::string(copy) + "cp.async.commit_group; cp.async.wait_group 1;\nbar.sync 0; ld.shared.u32 %r4, [%r10];")),
       {1, 64}, launchFailed, R"(missing wait)"},
      {"copyWaitWithoutBarrier",
       kernel(withShared(std::string(copy) + "cp.async.commit_group; cp.async.wait_group 0;\nld.shared.u32 %r4, [%r10];")),
       {1, 64}, launchFailed, R"(missing wait|race \(read after write\)|uninitialised read)"},
      {"copyPastTheEndOfTheSource",
       kernel(withShared("shl.b32 %r11, %r0, 4; cvt.u64.u32 %d5, %r11; add.u64 %d6, %d0, %d5; add.u32 %r12, %r9, %r11; cp.async.cg.shared.global [%r12], [%d6+192], 16;")),
       {1, 5}, illegalAddress, R"(out of bounds: 16-byte read)"},
      {"shuffleNamesLanesThatLeft", kernel("setp.ge.u32 %p1, %r0, 16; @%p1 ret; shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;"),
       {1, 32}, launchFailed, R"(names \d+ lanes that have left|a lane leaves the kernel while others)"},
      {"shuffleMaskWithoutOwnLane", kernel("shfl.sync.bfly.b32 %r4, %r3, 1, 31, 0x0000ffff;"), {1, 32}, launchFailed,
       R"(member mask does not name the executing lane)"},
      {"shuffleFromALaneOutsideTheMask",
       kernel("setp.lt.u32 %p1, %r0, 16; @%p1 shfl.sync.bfly.b32 %r4, %r3, 16, 31, 0x0000ffff;"), {1, 32}, launchFailed,
       R"(shuffle from lane \d+, which takes no part)"},
      {"warpExchangeWithoutSync",
       kernel(withShared(s + "xor.b32 %r4, %r2, 4; add.u32 %r5, %r9, %r4; ld.shared.u32 %r6, [%r5];")), {1, 32},
       launchFailed, R"(race \((read after write|write after read)\)|is a barrier missing)"},
      {"warpSyncOfTheWrongLanes",
       kernel(withShared(s + "setp.lt.u32 %p1, %r0, 16; selp.b32 %r7, 0x0000ffff, 0xffff0000, %p1; bar.warp.sync %r7; "
                             "xor.b32 %r4, %r2, 64; add.u32 %r5, %r9, %r4; ld.shared.u32 %r6, [%r5];")),
       {1, 32}, launchFailed, R"(race \((read after write|write after read)\)|is a barrier missing)"},
      {"matrixLoadOfAMisalignedRow",
       kernel(withShared(s + "bar.sync 0; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r10];")), {1, 32}, misaligned,
       R"(misaligned 16-byte read)"},
  };
}

class SeededBug : public CheckedTest, public ::testing::WithParamInterface<Bug> {};

TEST_P(SeededBug, isFound) {
  const Bug &bug = GetParam();
  EXPECT_EQ(runKernel(bug.text, bug.shape), bug.error);
  EXPECT_TRUE(std::regex_search(report(), std::regex(bug.report))) << report();
}

INSTANTIATE_TEST_SUITE_P(CudaEmulator, SeededBug, ::testing::ValuesIn(bugs()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_F(CheckedTest, findsUseAfterFree) {
  CUdeviceptr freed = 0;
  ASSERT_EQ(cuMemAlloc_v2(&freed, 256), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree_v2(freed), CUDA_SUCCESS);
  EXPECT_EQ(run(function(load(kernel("")), "k"), {1, 1}, freed, freed), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(CheckedTest, namesTheSourceLineWhereTheTextHasOne) {
  std::string text = ptxModule(".file 1 \"model.cu\"\n.visible .entry k(.param .u64 p) { .reg .b64 %d<2>; .reg .b32 %r<2>;\n"
                               "ld.param.u64 %d1, [p];\n.loc 1 42 3\nld.global.u32 %r1, [%d1+4096]; ret; }");
  Buffer<uint32_t> one(1);
  EXPECT_EQ(run(function(load(text), "k"), {1, 1}, one.address), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(report().find("at PTX line 8 (model.cu:42): ld.global.u32"), std::string::npos) << report();
}

} // namespace
} // namespace nncc::cuemu::test
