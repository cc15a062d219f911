// What a user chooses about generated CUDA kernels.
#pragma once

#include <cstdint>

namespace nncc::codegen::cuda {

/// How f32 operands of matrix products and convolutions are multiplied.
enum class Fp32 {
  Exact,  ///< in f32, by the multiply-add of each thread
  Tf32x3, ///< on tensor cores, each operand as a sum of two tf32 numbers: errors about those of f32
  Tf32,   ///< on tensor cores, operands rounded to tf32: 10 bits of fraction
};

/// The values of --fp32.
struct Fp32Name {
  const char *name;
  Fp32 value;
  const char *help;
};
inline constexpr Fp32Name kFp32Names[] = {
    {"exact", Fp32::Exact, "in f32, the default"},
    {"3xtf32", Fp32::Tf32x3, "on tensor cores as three tf32 products, about as exact"},
    {"tf32", Fp32::Tf32, "on tensor cores in tf32, which has 10 bits of fraction"},
};

/// The tiles that are worth the time of tuning: the model's order is seldom wrong by more.
inline constexpr uint32_t kTilesToTune = 4;

struct CudaOptions {
  Fp32 fp32 = Fp32::Exact;
  /// Which tile every contraction takes: the one that the model ranks first, second, ... or the last that there is. For tuning, and
  /// for tests of all tiles.
  uint32_t tileRank = 0;
  /// How many tiles of each contraction a model carries, from that one on; a device that is tuned for has the choice.
  uint32_t tileCount = 1;
};

} // namespace nncc::codegen::cuda
