// Occupancy and rooflines against numbers worked out by hand from NVIDIA's tables.
#include "runtime/cuda/GpuModel.h"

#include <gtest/gtest.h>

using namespace nncc::rt::cuda;

namespace {

int64_t resident(int capability, int64_t threads, int64_t registers, int64_t sharedBytes) {
  return residentBlocks(*multiprocessorOf(capability), {threads, registers, sharedBytes});
}

} // namespace

TEST(GpuModel, EveryArchitectureThatIsServedHasADevice) {
  for (const char *architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120", "compute_80"}) {
    const GpuModel *gpu = gpuModelOf(architecture);
    ASSERT_TRUE(gpu) << architecture;
    EXPECT_TRUE(multiprocessorOf(gpu->capability)) << architecture;
  }
  EXPECT_EQ(gpuModelOf("sm_90a"), gpuModelOf("sm_90"));
  for (const char *architecture : {"", "sm_", "sm_81", "sm_1000", "80x", "volta"})
    EXPECT_EQ(gpuModelOf(architecture), nullptr) << architecture;
}

TEST(GpuModel, ThePeaksFollowFromTheClock) {
  // A100: 108 multiprocessors of 64 lanes at 1410 MHz; the tensor cores of one do 1024 multiply-adds of f16 per cycle.
  const GpuModel &a100 = *gpuModelOf("sm_80");
  EXPECT_NEAR(a100.fp32Flops, 108 * 64 * 2 * 1.41e9, 0.05e12);
  EXPECT_NEAR(a100.halfFlops, 108 * 1024 * 2 * 1.41e9, 0.5e12);
  // T4: 40 of 64 lanes at 1590 MHz, 512 multiply-adds of f16.
  const GpuModel &t4 = *gpuModelOf("sm_75");
  EXPECT_NEAR(t4.fp32Flops, 40 * 64 * 2 * 1.59e9, 0.05e12);
  EXPECT_NEAR(t4.halfFlops, 40 * 512 * 2 * 1.59e9, 0.5e12);
}

TEST(GpuModel, PeaksOfADeviceFollowFromWhatItSays) {
  // An A100 at 1410 MHz.
  DevicePeaks peaks = peaksOf(80, 108, 1.41e9, 1555e9);
  EXPECT_NEAR(peaks.fp32Flops, 19.5e12, 0.05e12);
  EXPECT_NEAR(peaks.halfFlops, 312e12, 1e12);
  EXPECT_EQ(peaks.memoryBytes, 1555e9);
  EXPECT_EQ(peaksOf(30, 8, 1e9, 1).fp32Flops, 0);
}

TEST(GpuModel, OccupancyEndsAtTheScarcestResource) {
  // Threads: 2048 of 256.
  EXPECT_EQ(resident(80, 256, 32, 0), 8);
  // Blocks: 32 of 32 threads would leave room for 64.
  EXPECT_EQ(resident(80, 32, 16, 0), 32);
  EXPECT_EQ(resident(75, 32, 16, 0), 16);
  // Registers: a warp takes 64 * 32 of the 16384 of its quarter, so 8 in each, 32 warps, 4 blocks of 8 warps.
  EXPECT_EQ(resident(80, 256, 64, 0), 4);
  // 65 are rounded up to 72: 2304 for a warp, 7 in each quarter, 28 warps, 3 blocks.
  EXPECT_EQ(resident(80, 256, 65, 0), 3);
  EXPECT_EQ(resident(80, 1024, 255, 0), 0);
  // Shared memory: 100 KiB, of which a block of 33 KiB takes 34.
  EXPECT_EQ(resident(86, 128, 32, 33 << 10), 2);
  EXPECT_EQ(resident(75, 128, 32, 33 << 10), 1);
}

TEST(GpuModel, APredictionCountsTheBlocksOfTheBusiestMultiprocessor) {
  const GpuModel &a100 = *gpuModelOf("sm_80");
  TiledProduct product;
  product.blocks = 108 * 4;
  product.flopsPerBlock = 2.0 * 128 * 128 * 1024;
  product.usefulFlops = double(product.blocks) * product.flopsPerBlock;
  product.bytes = 1e6;
  Prediction full = predict(a100, product, {256, 128, 16 << 10});
  // 2 blocks at a time, by registers: 4 in two waves, all useful.
  EXPECT_DOUBLE_EQ(full.waves, 2);
  EXPECT_DOUBLE_EQ(full.occupancy, 512. / 2048);
  EXPECT_NEAR(full.share, 1, 1e-9);
  // One block more: four fifths of the multiprocessors' time is of use, and a little.
  ++product.blocks;
  product.usefulFlops += product.flopsPerBlock;
  Prediction one = predict(a100, product, {256, 128, 16 << 10});
  EXPECT_NEAR(one.share, (108 * 4 + 1) / (108. * 5), 1e-9);
  // Shared memory that gives a word for two multiply-adds feeds 32 * 2 lanes, all that there are; for one, half of them.
  product.flopsPerSharedWord = 4;
  EXPECT_NEAR(predict(a100, product, {256, 128, 16 << 10}).share, one.share, 1e-3);
  product.flopsPerSharedWord = 2;
  EXPECT_NEAR(predict(a100, product, {256, 128, 16 << 10}).share, one.share / 2, 1e-3);
}

TEST(GpuModel, MemoryLimitsWhatHasLittleArithmetic) {
  const GpuModel &a100 = *gpuModelOf("sm_80");
  EXPECT_DOUBLE_EQ(rooflineSeconds(a100, MathUnit::Fp32, 1e6, 1555e6), 1e-3);
  EXPECT_DOUBLE_EQ(rooflineSeconds(a100, MathUnit::Fp32, 19.5e9, 1), 1e-3);
  EXPECT_DOUBLE_EQ(rooflineSeconds(a100, MathUnit::Half, 312e9, 1), 1e-3);
}
