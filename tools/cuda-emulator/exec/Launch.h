// One launch of a kernel: what is launched, over what grid, and what came of it. runLaunch executes it on
// the calling thread and, in plain mode, on the worker threads.
#pragma once

#include "support/CudaDriver.h"
#include "tools/cuda-emulator/translate/Translation.h"

#include <atomic>
#include <mutex>

namespace nncc::cuemu {

class Checker;

struct Launch {
  const TranslatedModule *module = nullptr;
  const Kernel *kernel = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  const uint8_t *parameters = nullptr;
  uint64_t gridId = 0;
  uint32_t multiprocessorCount = 1;
  Checker *checker = nullptr; ///< set in checked mode
  uint64_t seed = 0;          ///< 0: threads and blocks in their order
  double timeLimitSeconds = 0; ///< 0: none
  unsigned workers = 1;

  uint32_t threadsPerBlock() const { return block[0] * block[1] * block[2]; }
  uint64_t blockCount() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }

  /// The first fault; later ones are dropped.
  void fail(cuda::CUresult code, const std::string &message);
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }
  cuda::CUresult result() const { return code; }
  const std::string &message() const { return text; }

private:
  std::atomic<bool> failed = false;
  std::mutex mutex;
  cuda::CUresult code = cuda::CUDA_SUCCESS;
  std::string text;
};

void runLaunch(Launch &launch);

/// "kernel 'f', block (0,0,0), thread (3,0,0)".
std::string describeThread(const Launch &launch, const ThreadContext &thread);
/// "line 12 (model.cu:40): st.shared.f32".
std::string describeSite(const TranslatedModule &module, uint32_t site);

} // namespace nncc::cuemu
