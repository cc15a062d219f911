// Collectives of a warp and atomics, against plain loops over the lanes.
#include "test/unit/cuda-emulator/Emulator.h"

#include <cstring>

namespace nncc::cuemu::test {
namespace {

class Warp : public EmulatorTest {
protected:
  /// Runs `code`, which computes %r5 from %r0 (lane) and %r1 (input word), and returns %r5 of every lane.
  std::vector<uint32_t> lanes(const std::string &code, const std::vector<uint32_t> &input) {
    std::string text = ptxModule(
        ".visible .entry k(.param .u64 x, .param .u64 y) { .reg .pred %p<6>; .reg .b32 %r<12>; .reg .b64 %d<8>;\n"
        "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r0, %laneid; mul.wide.u32 %d3, %r0, 4; add.u64 %d4, %d1, %d3; "
        "add.u64 %d5, %d2, %d3; ld.global.u32 %r1, [%d4];\n" + code + "\nst.global.u32 [%d5], %r5; ret; }");
    Buffer<uint32_t> x(input), y(std::vector<uint32_t>(32, 0));
    EXPECT_EQ(run(function(load(text), "k"), {1, 32}, x.address, y.address), CUDA_SUCCESS);
    return y.read();
  }
  std::vector<uint32_t> input = [] {
    std::vector<uint32_t> values(32);
    for (uint32_t i = 0; i < 32; i++)
      values[i] = 1000 + 7 * i;
    return values;
  }();
};

TEST_F(Warp, shufflesWithinSegments) {
  // Segments of 8 lanes: the segment mask is 0b11000, and lanes out of range keep their own value.
  auto up = lanes("shfl.sync.up.b32 %r5, %r1, 3, 0x1800, -1;", input);
  auto down = lanes("shfl.sync.down.b32 %r5, %r1, 3, 0x181f, -1;", input);
  auto xored = lanes("shfl.sync.bfly.b32 %r5, %r1, 5, 0x181f, -1;", input);
  auto index = lanes("shfl.sync.idx.b32 %r5, %r1, 2, 0x181f, -1;", input);
  auto inRange = lanes("shfl.sync.up.b32 %r4|%p1, %r1, 3, 0x1800, -1; selp.b32 %r5, 1, 0, %p1;", input);
  for (uint32_t i = 0; i < 32; i++) {
    uint32_t segment = i / 8 * 8, within = i % 8;
    EXPECT_EQ(up[i], input[within >= 3 ? i - 3 : i]) << i;
    EXPECT_EQ(down[i], input[within + 3 < 8 ? i + 3 : i]) << i;
    EXPECT_EQ(xored[i], input[i ^ 5]) << i;
    EXPECT_EQ(index[i], input[segment + 2]) << i;
    EXPECT_EQ(inRange[i], within >= 3) << i;
  }
}

TEST_F(Warp, votesAndMatches) {
  auto ballot = lanes("and.b32 %r2, %r0, 3; setp.eq.u32 %p1, %r2, 0; vote.sync.ballot.b32 %r5, %p1, -1;", input);
  auto all = lanes("setp.ge.u32 %p1, %r1, 1000; vote.sync.all.pred %p2, %p1, -1; selp.b32 %r5, 1, 0, %p2;", input);
  auto any = lanes("setp.gt.u32 %p1, %r1, 5000; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r5, 1, 0, %p2;", input);
  auto uniform = lanes("setp.gt.u32 %p1, %r1, 5000; vote.sync.uni.pred %p2, !%p1, -1; selp.b32 %r5, 1, 0, %p2;", input);
  auto match = lanes("and.b32 %r2, %r0, 1; match.any.sync.b32 %r5, %r2, -1;", input);
  auto matchAll = lanes("and.b32 %r2, %r0, 1; match.all.sync.b32 %r5|%p1, %r2, -1;", input);
  for (uint32_t i = 0; i < 32; i++) {
    EXPECT_EQ(ballot[i], 0x11111111u);
    EXPECT_EQ(all[i], 1u);
    EXPECT_EQ(any[i], 0u);
    EXPECT_EQ(uniform[i], 1u);
    EXPECT_EQ(match[i], i % 2 ? 0xaaaaaaaau : 0x55555555u);
    EXPECT_EQ(matchAll[i], 0u);
  }
}

TEST_F(Warp, reducesAndKnowsItsLanes) {
  uint32_t sum = 0;
  for (uint32_t value : input)
    sum += value;
  EXPECT_EQ(lanes("redux.sync.add.s32 %r5, %r1, -1;", input), std::vector<uint32_t>(32, sum));
  EXPECT_EQ(lanes("redux.sync.max.u32 %r5, %r1, -1;", input), std::vector<uint32_t>(32, input[31]));
  auto below = lanes("mov.u32 %r5, %lanemask_lt;", input);
  for (uint32_t i = 0; i < 32; i++)
    EXPECT_EQ(below[i], (1u << i) - 1);
  // Barriers with a reduction.
  auto count = lanes("setp.lt.u32 %p1, %r0, 5; bar.red.popc.u32 %r5, 0, %p1;", input);
  EXPECT_EQ(count, std::vector<uint32_t>(32, 5u));
}

TEST_F(Warp, atomicsOnOneWord) {
  struct {
    const char *code;
    uint32_t start, expected;
  } cases[] = {
      {"atom.global.add.u32 %r5, [%d2], 3;", 5, 5 + 96},
      {"red.global.and.b32 [%d2], 0x0f;", 0xff, 0x0f},
      {"red.global.or.b32 [%d2], %r0;", 0, 31},
      {"red.global.xor.b32 [%d2], 1;", 7, 7},
      {"red.global.max.s32 [%d2], %r0;", 0xffffffff, 31},
      {"red.global.max.u32 [%d2], %r0;", 0xffffffff, 0xffffffff},
      {"red.global.min.s32 [%d2], %r0;", 0xffffffff, 0xffffffff},
      {"atom.global.inc.u32 %r5, [%d2], 9;", 0, 2},
      {"atom.global.dec.u32 %r5, [%d2], 9;", 0, 8},
      {"atom.global.cas.b32 %r5, [%d2], 4, 77;", 4, 77},
      {"atom.acq_rel.gpu.global.exch.b32 %r5, [%d2], 6;", 1, 6},
      {"mov.b32 %r6, 0f3F000000; .reg .f32 %f; mov.b32 %f, %r6; red.global.add.f32 [%d2], %f;", 0x3f800000, 0x41880000},
      {"red.global.add.noftz.f16x2 [%d2], %r7;", 0x3c004000, 0x3c004000},
  };
  for (auto &each : cases) {
    std::string text = ptxModule(".visible .entry k(.param .u64 y) { .reg .b32 %r<12>; .reg .b64 %d<8>; ld.param.u64 %d2, [y]; "
                                 "mov.u32 %r0, %laneid; mov.b32 %r7, 0; " + std::string(each.code) + " ret; }");
    Buffer<uint32_t> word(std::vector<uint32_t>{each.start});
    ASSERT_EQ(run(function(load(text), "k"), {1, 32}, word.address), CUDA_SUCCESS);
    EXPECT_EQ(word.read()[0], each.expected) << each.code;
  }
}

} // namespace
} // namespace nncc::cuemu::test
