// What is known of GPUs without having one: the limits of each architecture's multiprocessors, and a device of each architecture with
// its clock, memory and peaks. From these follow a kernel's occupancy and the time that it cannot beat (its roofline), for
// `nncc --report` and for measurements on a device.
#pragma once

#include <cstdint>
#include <string_view>

namespace nncc::rt::cuda {

/// A multiprocessor (CUDA C++ Programming Guide, "Compute Capabilities").
struct Multiprocessor {
  int capability;           ///< 80 for sm_80
  int threads, blocks;      ///< that it holds at most
  int64_t sharedBytes;      ///< for all blocks together
  int64_t reservedBytes;    ///< of shared memory, for each block
  int fp32Lanes;            ///< multiply-adds of f32 per cycle
};

/// The unit that multiplies.
enum class MathUnit {
  Fp32,
  Tf32,
  Tf32x3, ///< three products of TF32 for one
  Half,
};

/// A device as its maker describes it.
struct GpuModel {
  const char *name;
  int capability;
  int multiprocessors;
  double memoryBytesPerSecond;
  double fp32Flops, tf32Flops, halfFlops; ///< per second; tensor cores with f32 sums, without sparsity
  const char *source;

  double peakFlops(MathUnit unit) const;
};

/// For "sm_80", "sm_90a" or "compute_80"; null for an architecture without an entry.
const GpuModel *gpuModelOf(std::string_view architecture);
/// For a capability that stands in the table; null for any other.
const Multiprocessor *multiprocessorOf(int capability);

/// What a device can do at most, per second.
struct DevicePeaks {
  double fp32Flops = 0, halfFlops = 0;
  double memoryBytes = 0;
};
/// Of a device that describes itself: `clockHz` of its multiprocessors. Zero for a capability that is not in the table.
DevicePeaks peaksOf(int capability, int multiprocessors, double clockHz, double memoryBytesPerSecond);

/// What a kernel takes of a multiprocessor.
struct BlockResources {
  int64_t threads = 0;      ///< per block
  int64_t registers = 0;    ///< per thread
  int64_t sharedBytes = 0;  ///< per block, static and dynamic
};

/// Blocks of the kernel that a multiprocessor holds at once.
int64_t residentBlocks(const Multiprocessor &multiprocessor, const BlockResources &block);

/// Seconds below which no kernel does this work: limited by arithmetic or by memory.
double rooflineSeconds(const GpuModel &gpu, MathUnit unit, double flops, double bytes);

/// A matrix product cut into tiles, as a kernel runs it.
struct TiledProduct {
  double usefulFlops = 0;     ///< of all blocks
  double bytes = 0;           ///< of memory that must be read and written
  int64_t blocks = 0;         ///< of the grid
  double flopsPerBlock = 0;   ///< what a block computes, useful or not
  double flopsPerSharedWord = 0; ///< multiply-adds count as two; 0: shared memory is no limit
  MathUnit unit = MathUnit::Fp32;
};

struct Prediction {
  double waves = 0;       ///< blocks by what the device holds at once
  double occupancy = 0;   ///< threads that a multiprocessor holds, as a share of the most
  double seconds = 0;
  double share = 0;       ///< of the roofline
};

/// The model: every multiprocessor works at the peak of its unit, or as fast as shared memory feeds it, on the largest number of blocks
/// that any of them gets; and memory works at its peak beside it.
Prediction predict(const GpuModel &gpu, const TiledProduct &product, const BlockResources &block);

} // namespace nncc::rt::cuda
