// The FMA loop behind benchmarks; see MachinePeak.h.

#include "tools/support/MachinePeak.h"
#include "tools/support/Statistics.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

using namespace nncc::tools;

namespace {

/// Rounds of one call: short enough to react, long enough to hide the call.
constexpr int64_t kRounds = 2000;

struct FmaLoop {
  const char *name;
  float (*run)();
  double flopsPerCall;
};

/// Vectors of so many bytes.
template <size_t kBytes> struct FloatVector {
  typedef float Type __attribute__((vector_size(kBytes)));
};

// A loop keeps as many independent accumulators (chains) as hide the latency of two FMA units and
// fit the registers. The empty asm statement stops the compiler from computing the sum in closed
// form and from leaving registers, whose class its constraint names. A macro, since a template
// cannot take an instruction set as an argument.
#define NNCC_FMA_LOOP(name, instructionSet, target, sizeBytes, kChains, registerClass)             \
  target float run##name() {                                                                       \
    using Vector = FloatVector<sizeBytes>::Type;                                                   \
    Vector sums[kChains];                                                                          \
    const Vector factor = Vector{} + 0.999f, addend = Vector{} + 0.001f;                           \
    for (Vector & sum : sums)                                                                      \
      sum = Vector{} + 1.0f;                                                                       \
    for (int64_t round = 0; round < kRounds; ++round) {                                            \
      _Pragma("GCC unroll 24") for (int i = 0; i < kChains; ++i) {                                 \
        sums[i] = sums[i] * factor + addend;                                                       \
        asm volatile("" : "+" registerClass(sums[i]));                                             \
      }                                                                                            \
    }                                                                                              \
    Vector total = sums[0];                                                                        \
    for (int i = 1; i < kChains; ++i)                                                              \
      total += sums[i];                                                                            \
    return total[0];                                                                               \
  }                                                                                                \
  constexpr FmaLoop k##name = {instructionSet, run##name,                                          \
                               2.0 * (sizeBytes / sizeof(float)) * kChains * kRounds};

#if defined(__x86_64__)

NNCC_FMA_LOOP(Avx512, "AVX-512", __attribute__((target("avx512f"))), 64, 24, "v")
NNCC_FMA_LOOP(Avx2, "AVX2", __attribute__((target("avx2,fma"))), 32, 12, "x")
NNCC_FMA_LOOP(Sse2, "SSE2 without FMA", , 16, 12, "x")

const FmaLoop &fmaLoop() {
  if (__builtin_cpu_supports("avx512f"))
    return kAvx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? kAvx2 : kSse2;
}

#elif defined(__aarch64__)

NNCC_FMA_LOOP(Neon, "NEON", , 16, 24, "w")

const FmaLoop &fmaLoop() { return kNeon; }

#else
#error "the FMA loop has to be written for this architecture"
#endif

/// GFLOP/s of the calling thread over about two milliseconds.
double measureThread() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kDuration = std::chrono::milliseconds(2);
  const FmaLoop &loop = fmaLoop();
  volatile float sink = loop.run(); // wakes the wide units up
  auto start = Clock::now();
  auto now = start;
  int64_t calls = 0;
  while (now - start < kDuration) {
    sink = loop.run();
    ++calls;
    now = Clock::now();
  }
  (void)sink;
  return loop.flopsPerCall * calls / std::chrono::duration<double, std::nano>(now - start).count();
}

} // namespace

void MachinePeak::sample() {
  std::vector<double> perThread(threads);
  std::atomic<int> ready = 0;
  auto work = [&](int thread) {
    // All start together, so that the clocks are those of a machine with all its threads at work.
    for (++ready; ready.load() < threads;)
      std::this_thread::yield();
    perThread[thread] = measureThread();
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i)
    others.emplace_back(work, i);
  work(0);
  for (std::thread &other : others)
    other.join();
  samples.push_back(std::accumulate(perThread.begin(), perThread.end(), 0.0));
}

double MachinePeak::gflops() const { return median(samples); }

const char *MachinePeak::instructionSet() { return fmaLoop().name; }
