// The FMA loop behind benchmarks; see MachinePeak.h.

#include "tools/support/MachinePeak.h"
#include "tools/support/Statistics.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

using namespace nncc::tools;

namespace {

/// Rounds of one call: short enough to react, long enough to hide the call.
constexpr int64_t kRounds = 2000;

struct FmaLoop {
  const char *name;
  float (*run)();
  double flopsPerCall;
};

// Each loop keeps as many independent accumulators as hide the latency of two FMA units and fit the
// registers. The empty asm statement stops the compiler from computing the sum in closed form and
// from leaving registers.

#if defined(__x86_64__)

__attribute__((target("avx512f"))) float runAvx512() {
  constexpr int kChains = 24;
  __m512 sums[kChains], factor = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(0.001f);
  for (__m512 &sum : sums)
    sum = _mm512_set1_ps(1);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) {
      sums[i] = _mm512_fmadd_ps(sums[i], factor, addend);
      asm volatile("" : "+v"(sums[i]));
    }
  }
  __m512 total = sums[0];
  for (int i = 1; i < kChains; ++i)
    total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx2,fma"))) float runAvx2() {
  constexpr int kChains = 12;
  __m256 sums[kChains], factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(0.001f);
  for (__m256 &sum : sums)
    sum = _mm256_set1_ps(1);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      sums[i] = _mm256_fmadd_ps(sums[i], factor, addend);
      asm volatile("" : "+x"(sums[i]));
    }
  }
  __m256 total = sums[0];
  for (int i = 1; i < kChains; ++i)
    total = _mm256_add_ps(total, sums[i]);
  return _mm256_cvtss_f32(total);
}

float runSse2() {
  constexpr int kChains = 12;
  __m128 sums[kChains], factor = _mm_set1_ps(0.999f), addend = _mm_set1_ps(0.001f);
  for (__m128 &sum : sums)
    sum = _mm_set1_ps(1);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      sums[i] = _mm_add_ps(_mm_mul_ps(sums[i], factor), addend);
      asm volatile("" : "+x"(sums[i]));
    }
  }
  __m128 total = sums[0];
  for (int i = 1; i < kChains; ++i)
    total = _mm_add_ps(total, sums[i]);
  return _mm_cvtss_f32(total);
}

const FmaLoop &fmaLoop() {
  static constexpr FmaLoop kAvx512 = {"AVX-512", runAvx512, 2.0 * 16 * 24 * kRounds};
  static constexpr FmaLoop kAvx2 = {"AVX2", runAvx2, 2.0 * 8 * 12 * kRounds};
  static constexpr FmaLoop kSse2 = {"SSE2 without FMA", runSse2, 2.0 * 4 * 12 * kRounds};
  if (__builtin_cpu_supports("avx512f"))
    return kAvx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? kAvx2 : kSse2;
}

#elif defined(__aarch64__)

float runNeon() {
  constexpr int kChains = 24;
  float32x4_t sums[kChains], factor = vdupq_n_f32(0.999f), addend = vdupq_n_f32(0.001f);
  for (float32x4_t &sum : sums)
    sum = vdupq_n_f32(1);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) {
      sums[i] = vfmaq_f32(sums[i], factor, addend);
      asm volatile("" : "+w"(sums[i]));
    }
  }
  float32x4_t total = sums[0];
  for (int i = 1; i < kChains; ++i)
    total = vaddq_f32(total, sums[i]);
  return vaddvq_f32(total);
}

const FmaLoop &fmaLoop() {
  static constexpr FmaLoop kNeon = {"NEON", runNeon, 2.0 * 4 * 24 * kRounds};
  return kNeon;
}

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
