// Chooses rows, parts and units of a block for a recurrent layer; see RecurrencePlan.h.

#include "codegen/cuda/RecurrencePlan.h"

#include "llvm/Support/MathExtras.h"

using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

constexpr int64_t kMostThreads = 512;

} // namespace

std::optional<RecurrencePlan> cuda::planRecurrence(int64_t hidden, int64_t gates, std::optional<int64_t> batch, int64_t storedBytes,
                                                   int64_t computedBytes) {
  RecurrencePlan plan;
  plan.vector = 16 / computedBytes;
  int64_t registersPerNumber = computedBytes / 4;
  auto padTo = [&](int64_t parts) { return llvm::alignTo(hidden, plan.vector * parts); };
  // Small layers: as few parts as leave room for a thread's weights.
  auto isSmall = [&](int64_t parts) {
    return hidden * parts <= kMostThreads && gates * padTo(parts) / parts * registersPerNumber <= kWeightRegisters;
  };
  while (plan.parts < 8 && !isSmall(plan.parts))
    plan.parts *= 2;
  plan.isResident = isSmall(plan.parts);
  if (!plan.isResident) {
    // The parts of a unit read from different rows of the weight: a warp must still read whole sectors of 32 bytes.
    plan.parts = 1;
    while (plan.parts < storedBytes && plan.parts < 4 && hidden * plan.parts * 2 <= kMostThreads)
      plan.parts *= 2;
  }
  plan.padded = padTo(plan.parts);
  int64_t mostAtOnce = kMostThreads / plan.parts;
  plan.units = llvm::divideCeil(hidden, mostAtOnce);
  plan.stride = llvm::alignTo(llvm::divideCeil(hidden, plan.units) * plan.parts, 32) / plan.parts;
  // Weights that come from the cache, four bytes in the time of four multiply-adds, want to serve four rows. Resident ones need no
  // company, and fewer rows make more blocks.
  plan.rows = plan.isResident ? 2 : 4;
  if (batch)
    plan.rows = std::min<int64_t>(plan.rows, llvm::PowerOf2Ceil(std::max<int64_t>(*batch, 1)));
  while (plan.rows > 1 && (plan.rows * plan.units * gates * registersPerNumber > kSumRegisters ||
                           2 * plan.rows * plan.padded * computedBytes > kSharedBytes))
    plan.rows /= 2;
  if (2 * plan.rows * plan.padded * computedBytes > kSharedBytes)
    return std::nullopt;
  return plan;
}
