// Kernels that are right, close to those of SeededBugsTest.cpp. Checked mode must not report any; their
// results are checked too where the kernel has one.
#include "test/unit/cuda-emulator/CheckedMode.h"

namespace nncc::cuemu::test {
namespace {

struct Clean {
  const char *name;
  std::string text;
  Shape shape;
};

void PrintTo(const Clean &clean, std::ostream *stream) { *stream << clean.name; }

std::vector<Clean> cleanKernels() {
  const std::string store = "st.shared.u32 [%r10], %r3; ";
  const std::string loadNeighbour = "xor.b32 %r4, %r2, 128; add.u32 %r5, %r9, %r4; ld.shared.u32 %r6, [%r5]; ";
  return {
      {"exchangeWithBarriers",
       kernel(withShared(store + "bar.sync 0;" + loadNeighbour + "bar.sync 0; st.shared.u32 [%r10], %r6;")), {3, 64}},
      {"loopWithTwoBarriers",
       kernel(withShared("mov.u32 %r7, 0;\nagain:\n" + store + "bar.sync 0;" + loadNeighbour +
                         "bar.sync 0; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 5; @%p2 bra again;")),
       {2, 64}},
      {"warpExchangeWithSync",
       kernel(withShared(store + "bar.warp.sync -1; xor.b32 %r4, %r2, 4; add.u32 %r5, %r9, %r4; ld.shared.u32 %r6, [%r5]; "
                                 "bar.warp.sync -1; st.shared.u32 [%r10], %r6;")),
       {2, 64}},
      {"halfWarpsSyncApart",
       kernel(withShared(store + "and.b32 %r8, %r0, 16; setp.eq.u32 %p1, %r8, 0; selp.b32 %r7, 0x0000ffff, 0xffff0000, %p1; "
                                 "bar.warp.sync %r7; xor.b32 %r4, %r2, 4; add.u32 %r5, %r9, %r4; ld.shared.u32 %r6, [%r5];")),
       {1, 64}},
      {"divergentShuffles",
       kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bra low;\nshfl.sync.down.b32 %r4, %r3, 1, 31, 0xffff0000; bra end;\nlow:\n"
              "shfl.sync.bfly.b32 %r4, %r3, 3, 31, 0x0000ffff;\nend:"),
       {1, 32}},
      {"shuffleInAPartialWarp", kernel("shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;"), {1, 48}},
      {"sharedHistogram",
       kernel(withShared("mov.u32 %r4, 0; st.shared.u32 [%r10], %r4; bar.sync 0; and.b32 %r5, %r3, 7; shl.b32 %r5, %r5, 2; "
                         "add.u32 %r5, %r9, %r5; atom.shared.add.u32 %r6, [%r5], 1; bar.sync 0; ld.shared.u32 %r7, [%r10]; "
                         "red.global.add.u32 [%d3], %r7;")),
       {1, 64}},
      {"lastBlockWithFence",
       kernel("setp.ne.u32 %p1, %r0, 0; @%p1 bra end; mul.wide.u32 %d5, %r1, 4; add.u64 %d6, %d1, %d5;\n"
              "st.global.u32 [%d6], %r3; membar.gl;\natom.global.add.u32 %r5, [%d0+4], 1; setp.ne.u32 %p2, %r5, 3; @%p2 bra end;\n"
              "membar.gl; ld.global.u32 %r6, [%d1]; ld.global.u32 %r7, [%d1+8];\nend:"),
       {3, 1}},
      {"flagWithReleaseAndAcquire",
       kernel(withShared("setp.ge.u32 %p1, %r0, 32; @%p1 bra wait;\nst.shared.u32 [%r10], %r3; bar.warp.sync -1; setp.ne.u32 %p2, %r0, 0; "
                         "@%p2 ret; fence.acq_rel.cta; st.release.cta.global.u32 [%d1], 7; ret;\nwait:\nld.acquire.cta.global.u32 %r4, [%d0+252]; "
                         "setp.ne.u32 %p3, %r4, 63; @%p3 bra wait;")),
       {1, 64}},
      {"halvesOfAWord",
       kernel("cvt.u16.u32 %h1, %r0; mul.wide.u32 %d5, %r0, 2; add.u64 %d6, %d1, %d5; st.global.u16 [%d6], %h1; bar.sync 0; "
              "xor.b32 %r4, %r0, 1; mul.wide.u32 %d7, %r4, 2; add.u64 %d8, %d1, %d7; ld.global.u16 %h2, [%d8];"),
       {1, 64}},
      {"asynchronousCopyInTwoStages",
       kernel(withShared("setp.ge.u32 %p1, %r0, 8; shl.b32 %r11, %r0, 4; add.u32 %r12, %r9, %r11; cvt.u64.u32 %d5, %r11; "
                         "add.u64 %d6, %d0, %d5; @!%p1 cp.async.cg.shared.global [%r12], [%d6], 16; cp.async.commit_group; "
                         "@!%p1 cp.async.ca.shared.global [%r12+128], [%d6+128], 16, 16; cp.async.commit_group; "
                         "cp.async.wait_group 1; bar.sync 0; setp.lt.u32 %p2, %r0, 32; @%p2 ld.shared.u32 %r4, [%r10]; "
                         "cp.async.wait_all; bar.sync 0; ld.shared.u32 %r5, [%r10]; st.global.u32 [%d4], %r5;")),
       {1, 64}},
      {"copyThatFillsWithZeros",
       kernel(withShared("setp.ge.u32 %p1, %r0, 16; @%p1 bra copied; shl.b32 %r11, %r0, 4; add.u32 %r12, %r9, %r11; mov.u32 %r13, 0; "
                         "cp.async.cg.shared.global [%r12], [%d0+4096], 16, %r13;\ncopied:\ncp.async.wait_all; bar.sync 0; ld.shared.u32 %r4, [%r10];")),
       {1, 64}},
      {"namedBarrierOfOneWarp",
       kernel(withShared("setp.ge.u32 %p1, %r0, 32; @%p1 bra end; " + store + "barrier.sync 3, 32; xor.b32 %r4, %r2, 8; "
                         "add.u32 %r5, %r9, %r4; ld.shared.u32 %r6, [%r5];\nend:\nbar.sync 0;")),
       {1, 64}},
      {"localArray",
       kernel(".local .align 8 .b8 depot[64]; mov.u64 %d5, depot; cvta.local.u64 %d6, %d5; and.b32 %r4, %r0, 15; mul.wide.u32 %d7, %r4, 4; "
              "add.u64 %d8, %d6, %d7; st.u32 [%d8], %r3; ld.u32 %r5, [%d8];"),
       {1, 64}},
      {"matrixLoad",
       kernel(withShared(store + "bar.sync 0; and.b32 %r4, %r0, 7; shl.b32 %r4, %r4, 4; add.u32 %r5, %r9, %r4; "
                         "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r6, %r7}, [%r5];")),
       {1, 64}},
  };
}

class CleanKernel : public CheckedTest, public ::testing::WithParamInterface<Clean> {};

TEST_P(CleanKernel, isNotReported) {
  EXPECT_EQ(runKernel(GetParam().text, GetParam().shape), CUDA_SUCCESS);
  EXPECT_EQ(report(), "");
}

INSTANTIATE_TEST_SUITE_P(CudaEmulator, CleanKernel, ::testing::ValuesIn(cleanKernels()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_F(CheckedTest, deliversAsynchronousCopies) {
  CUfunction kernelFunction = function(load(cleanKernels()[10].text), "k");
  std::vector<uint32_t> words(64);
  std::iota(words.begin(), words.end(), 100u);
  Buffer<uint32_t> input(words), output(64);
  ASSERT_EQ(run(kernelFunction, {1, 64}, input.address, output.address), CUDA_SUCCESS);
  EXPECT_EQ(output.read(), words);
}

} // namespace
} // namespace nncc::cuemu::test
