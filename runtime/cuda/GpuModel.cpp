// The tables of GPUs, and the arithmetic on them; see GpuModel.h.

#include "runtime/cuda/GpuModel.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace nncc::rt::cuda {

namespace {

constexpr int64_t KiB = 1024;

constexpr Multiprocessor kMultiprocessors[] = {
    // capability, threads, blocks, shared, reserved, f32 lanes
    {75, 1024, 16, 64 * KiB, 0, 64},          {80, 2048, 32, 164 * KiB, 1 * KiB, 64},   {86, 1536, 16, 100 * KiB, 1 * KiB, 128},
    {89, 1536, 24, 100 * KiB, 1 * KiB, 128},  {90, 2048, 32, 228 * KiB, 1 * KiB, 128},  {100, 2048, 32, 228 * KiB, 1 * KiB, 128},
    {120, 1536, 24, 100 * KiB, 1 * KiB, 128},
};

// Peaks are those that NVIDIA prints. A Turing has no TF32, so its f32 stands there.
constexpr GpuModel kGpus[] = {
    // name, capability, multiprocessors, bytes/s, f32, TF32, f16 and bf16 per second
    {"Tesla T4", 75, 40, 320e9, 8.1e12, 8.1e12, 65e12, "NVIDIA Turing GPU Architecture whitepaper"},
    {"A100-SXM4-40GB", 80, 108, 1555e9, 19.5e12, 156e12, 312e12, "NVIDIA A100 Tensor Core GPU Architecture whitepaper"},
    {"GeForce RTX 3090", 86, 82, 936e9, 35.6e12, 35.6e12, 71e12, "NVIDIA Ampere GA102 GPU Architecture whitepaper"},
    {"GeForce RTX 4090", 89, 128, 1008e9, 82.6e12, 82.6e12, 165.2e12, "NVIDIA Ada GPU Architecture whitepaper"},
    {"H100 SXM5", 90, 132, 3352e9, 66.9e12, 494.7e12, 989.4e12, "NVIDIA H100 Tensor Core GPU Architecture whitepaper"},
    {"B200", 100, 148, 8000e9, 75e12, 1125e12, 2250e12, "NVIDIA HGX B200 datasheet, an eighth"},
    {"GeForce RTX 5090", 120, 170, 1792e9, 104.8e12, 104.8e12, 209.5e12, "NVIDIA RTX Blackwell GPU Architecture whitepaper"},
};

constexpr int64_t kWarp = 32;
constexpr int64_t kRegistersPerPartition = 16384, kPartitions = 4; ///< of every multiprocessor since Volta
constexpr int64_t kRegisterUnit = 256;                             ///< in which a warp gets them
constexpr double kSharedWordsPerCycle = 32;

int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

} // namespace

double GpuModel::peakFlops(MathUnit unit) const {
  switch (unit) {
  case MathUnit::Fp32:
    return fp32Flops;
  case MathUnit::Tf32:
    return tf32Flops;
  case MathUnit::Tf32x3:
    return tf32Flops / 3;
  case MathUnit::Half:
    return halfFlops;
  }
  return fp32Flops;
}

const GpuModel *gpuModelOf(std::string_view architecture) {
  size_t number = architecture.find('_') + 1;
  if (number == 0)
    return nullptr;
  int capability = 0;
  std::from_chars(architecture.data() + number, architecture.data() + architecture.size(), capability);
  for (const GpuModel &gpu : kGpus)
    if (gpu.capability == capability)
      return &gpu;
  return nullptr;
}

const Multiprocessor *multiprocessorOf(int capability) {
  for (const Multiprocessor &multiprocessor : kMultiprocessors)
    if (multiprocessor.capability == capability)
      return &multiprocessor;
  return nullptr;
}

DevicePeaks peaksOf(int capability, int multiprocessors, double clockHz, double memoryBytesPerSecond) {
  DevicePeaks peaks;
  peaks.memoryBytes = memoryBytesPerSecond;
  const Multiprocessor *multiprocessor = multiprocessorOf(capability);
  const GpuModel *sibling = gpuModelOf("sm_" + std::to_string(capability));
  if (!multiprocessor || !sibling)
    return peaks;
  peaks.fp32Flops = 2.0 * multiprocessor->fp32Lanes * multiprocessors * clockHz;
  peaks.halfFlops = peaks.fp32Flops * sibling->halfFlops / sibling->fp32Flops;
  return peaks;
}

int64_t residentBlocks(const Multiprocessor &multiprocessor, const BlockResources &block) {
  int64_t warps = roundUp(block.threads, kWarp) / kWarp;
  if (warps == 0)
    return 0;
  int64_t byThreads = multiprocessor.threads / (warps * kWarp);
  int64_t registersPerWarp = std::max(roundUp(block.registers * kWarp, kRegisterUnit), kRegisterUnit);
  int64_t byRegisters = kRegistersPerPartition / registersPerWarp * kPartitions / warps;
  int64_t shared = block.sharedBytes + multiprocessor.reservedBytes;
  int64_t byShared = shared == 0 ? multiprocessor.blocks : multiprocessor.sharedBytes / shared;
  return std::min({int64_t(multiprocessor.blocks), byThreads, byRegisters, byShared});
}

double rooflineSeconds(const GpuModel &gpu, MathUnit unit, double flops, double bytes) {
  return std::max(flops / gpu.peakFlops(unit), bytes / gpu.memoryBytesPerSecond);
}

Prediction predict(const GpuModel &gpu, const TiledProduct &product, const BlockResources &block) {
  Prediction prediction;
  const Multiprocessor *multiprocessor = multiprocessorOf(gpu.capability);
  int64_t resident = multiprocessor ? residentBlocks(*multiprocessor, block) : 0;
  if (resident == 0 || product.blocks == 0)
    return prediction;
  prediction.waves = double(product.blocks) / double(gpu.multiprocessors * resident);
  prediction.occupancy = double(resident * block.threads) / multiprocessor->threads;
  double flops = gpu.peakFlops(product.unit) / gpu.multiprocessors; // of one multiprocessor
  if (product.flopsPerSharedWord > 0) {
    double cyclesPerSecond = gpu.fp32Flops / (2.0 * multiprocessor->fp32Lanes * gpu.multiprocessors);
    flops = std::min(flops, kSharedWordsPerCycle * cyclesPerSecond * product.flopsPerSharedWord);
  }
  double blocksOfOne = std::ceil(double(product.blocks) / gpu.multiprocessors);
  prediction.seconds = std::max(blocksOfOne * product.flopsPerBlock / flops, product.bytes / gpu.memoryBytesPerSecond);
  prediction.share = rooflineSeconds(gpu, product.unit, product.usefulFlops, product.bytes) / prediction.seconds;
  return prediction;
}

} // namespace nncc::rt::cuda
