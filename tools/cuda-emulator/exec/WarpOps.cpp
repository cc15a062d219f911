// What the lanes of a warp compute together: shuffles, votes, matches, integer reductions. Each function
// gets the lanes that take part, reads their requests and writes their results.
#include "tools/cuda-emulator/exec/BlockScheduler.h"

#include <bit>

namespace nncc::cuemu {
namespace {

template <typename F> void forEachLane(uint32_t lanes, F f) {
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    f(static_cast<uint32_t>(std::countr_zero(rest)));
}

} // namespace

// The PTX manual's definition: c holds a clamp in bits 0 to 4 and a segment mask in bits 8 to 12; the source
// lane is in range if it does not cross the segment.
void BlockScheduler::computeShuffle(uint32_t warp, uint32_t lanes) {
  forEachLane(lanes, [&](uint32_t lane) {
    WarpRequest &own = request(warp, lane);
    uint32_t b = own.b & 31, clamp = own.c & 31, segment = own.c >> 8 & 31;
    uint32_t maxLane = (lane & segment) | (clamp & ~segment), minLane = lane & segment;
    uint32_t source = 0;
    bool isInRange = false;
    switch (static_cast<ShuffleMode>(own.mode)) {
    case ShuffleMode::Up:
      source = lane - b;
      isInRange = static_cast<int32_t>(source) >= static_cast<int32_t>(maxLane);
      break;
    case ShuffleMode::Down:
      source = lane + b;
      isInRange = source <= maxLane;
      break;
    case ShuffleMode::Butterfly:
      source = lane ^ b;
      isInRange = source <= maxLane;
      break;
    case ShuffleMode::Index:
      source = minLane | (b & ~segment & 31);
      isInRange = source <= maxLane;
      break;
    }
    if (!isInRange)
      source = lane;
    uint32_t value = 0;
    if (lanes >> source & 1) {
      value = static_cast<uint32_t>(request(warp, source).value);
    } else if (launch.checker) {
      launch.fail(cuda::CUDA_ERROR_LAUNCH_FAILED,
                  "shuffle from lane " + std::to_string(source) + ", which takes no part\n  by " +
                      describeThread(launch, fibers[warp * 32 + lane].context) + "\n  at " +
                      describeSite(*launch.module, own.site));
    }
    own.result = value | uint64_t{isInRange} << 32;
  });
}

void BlockScheduler::computeVote(uint32_t warp, uint32_t lanes) {
  uint32_t ballot = 0;
  forEachLane(lanes, [&](uint32_t lane) { ballot |= static_cast<uint32_t>(request(warp, lane).value != 0) << lane; });
  forEachLane(lanes, [&](uint32_t lane) {
    WarpRequest &own = request(warp, lane);
    switch (static_cast<VoteMode>(own.mode)) {
    case VoteMode::All:
      own.result = ballot == lanes;
      break;
    case VoteMode::Any:
      own.result = ballot != 0;
      break;
    case VoteMode::Uniform:
      own.result = ballot == lanes || ballot == 0;
      break;
    case VoteMode::Ballot:
      own.result = ballot;
      break;
    }
  });
}

void BlockScheduler::computeMatch(uint32_t warp, uint32_t lanes) {
  forEachLane(lanes, [&](uint32_t lane) {
    WarpRequest &own = request(warp, lane);
    uint32_t same = 0;
    forEachLane(lanes, [&](uint32_t other) { same |= static_cast<uint32_t>(request(warp, other).value == own.value) << other; });
    if (static_cast<MatchMode>(own.mode) == MatchMode::Any)
      own.result = same;
    else
      own.result = same == lanes ? lanes | uint64_t{1} << 32 : 0;
  });
}

void BlockScheduler::computeRedux(uint32_t warp, uint32_t lanes) {
  bool isFirst = true;
  uint32_t total = 0;
  forEachLane(lanes, [&](uint32_t lane) {
    auto value = static_cast<uint32_t>(request(warp, lane).value);
    auto left = static_cast<int32_t>(total), right = static_cast<int32_t>(value);
    if (isFirst) {
      total = value;
      isFirst = false;
      return;
    }
    switch (static_cast<ReduceOp>(request(warp, lane).mode)) {
    case ReduceOp::And:
      total &= value;
      break;
    case ReduceOp::Or:
      total |= value;
      break;
    case ReduceOp::Xor:
      total ^= value;
      break;
    case ReduceOp::MinSigned:
      total = static_cast<uint32_t>(std::min(left, right));
      break;
    case ReduceOp::MaxSigned:
      total = static_cast<uint32_t>(std::max(left, right));
      break;
    case ReduceOp::MinUnsigned:
      total = std::min(total, value);
      break;
    case ReduceOp::MaxUnsigned:
      total = std::max(total, value);
      break;
    default:
      total += value;
    }
  });
  forEachLane(lanes, [&](uint32_t lane) { request(warp, lane).result = total; });
}

} // namespace nncc::cuemu
