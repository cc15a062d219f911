// Spreads a launch's blocks over host threads, and turns a memory fault in a kernel into a failed launch.
#include "tools/cuda-emulator/exec/Launch.h"

#include "tools/cuda-emulator/exec/BlockScheduler.h"
#include "tools/cuda-emulator/exec/Checker.h"

#include <algorithm>
#include <csignal>
#include <numeric>
#include <random>
#include <thread>
#include <ucontext.h>

namespace nncc::cuemu {
namespace {

// --- Faults. In plain mode nothing checks addresses but the host's memory protection. The handler makes the
// faulting fiber go on in `faulted`, on a stack that is sure to be there, and that ends the launch.

void *faultAddress = nullptr;
struct sigaction previousSegv, previousBus;

[[noreturn]] void faulted() {
  BlockScheduler &scheduler = *BlockScheduler::running();
  ThreadContext &thread = scheduler.currentThread();
  char address[32];
  std::snprintf(address, sizeof(address), "%p", faultAddress);
  scheduler.getLaunch().fail(scheduler.isOnStack(faultAddress) ? cuda::CUDA_ERROR_HARDWARE_STACK_ERROR
                                                               : cuda::CUDA_ERROR_ILLEGAL_ADDRESS,
                             std::string("memory fault at address ") + address + "\n  by " +
                                 describeThread(scheduler.getLaunch(), thread));
  scheduler.abandon();
}

void onFault(int signal, siginfo_t *info, void *context) {
  BlockScheduler *scheduler = BlockScheduler::running();
  if (!scheduler) {
    // Not ours: as if this handler had not been installed.
    const struct sigaction &previous = signal == SIGSEGV ? previousSegv : previousBus;
    if (previous.sa_flags & SA_SIGINFO) {
      previous.sa_sigaction(signal, info, context);
      return;
    }
    std::signal(signal, SIG_DFL);
    return; // the instruction faults again
  }
  faultAddress = info->si_addr;
  auto *machine = static_cast<ucontext_t *>(context);
  auto stack = reinterpret_cast<uintptr_t>(scheduler->emergencyStackTop()) / 16 * 16;
#if defined(__x86_64__)
  machine->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&faulted);
  machine->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(stack - 8); // as after a call
#elif defined(__aarch64__)
  machine->uc_mcontext.pc = reinterpret_cast<uintptr_t>(&faulted);
  machine->uc_mcontext.sp = stack;
#endif
}

void installFaultHandler() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action = {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previousSegv);
    sigaction(SIGBUS, &action, &previousBus);
  });
}

/// A signal stack for this host thread, since the fault may be that a fiber's stack is full.
class SignalStack {
public:
  SignalStack() : memory(64 << 10) {
    stack_t stack = {};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, &previous);
  }
  ~SignalStack() { sigaltstack(&previous, nullptr); }

private:
  std::vector<uint8_t> memory;
  stack_t previous = {};
};

void runBlocks(Launch &launch, uint32_t worker, std::atomic<uint64_t> &next) {
  SignalStack signals;
  try {
    BlockScheduler scheduler(launch, worker);
    for (uint64_t block; !launch.hasFailed() && (block = next.fetch_add(1)) < launch.blockCount();)
      scheduler.runBlock(block);
  } catch (const std::bad_alloc &) {
    launch.fail(cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no host memory for the block's threads");
  }
}

} // namespace

void Launch::fail(cuda::CUresult failure, const std::string &message) {
  std::lock_guard lock(mutex);
  if (failed.load())
    return;
  code = failure;
  text = message;
  failed.store(true, std::memory_order_release);
}

std::string describeThread(const Launch &launch, const ThreadContext &thread) {
  auto triple = [](const uint32_t (&values)[3]) {
    return "(" + std::to_string(values[0]) + "," + std::to_string(values[1]) + "," + std::to_string(values[2]) + ")";
  };
  return "kernel '" + launch.kernel->name + "', block " + triple(thread.ctaid) + ", thread " + triple(thread.tid);
}

std::string describeSite(const TranslatedModule &module, uint32_t site) {
  const Site &where = module.sites.at(site);
  std::string text = "PTX line " + std::to_string(where.line);
  if (where.source.line > 0) {
    auto file = static_cast<size_t>(where.source.file);
    text += " (" + (file < module.files.size() && !module.files[file].empty() ? module.files[file] : std::string("source")) +
            ":" + std::to_string(where.source.line) + ")";
  }
  return text + ": " + where.text;
}

void runLaunch(Launch &launch) {
  installFaultHandler();
  if (launch.checker) {
    // One block after the other, so that what is found does not depend on the host's timing.
    SignalStack signals;
    launch.checker->beginLaunch(launch);
    BlockScheduler scheduler(launch, 0);
    std::vector<uint64_t> order(launch.blockCount());
    std::iota(order.begin(), order.end(), 0);
    if (launch.seed != 0)
      std::shuffle(order.begin(), order.end(), std::mt19937_64(launch.seed));
    for (size_t i = 0; i < order.size() && !launch.hasFailed(); i++)
      scheduler.runBlock(order[i]);
    return;
  }
  std::atomic<uint64_t> next = 0;
  auto count = static_cast<uint32_t>(std::min<uint64_t>(launch.workers, launch.blockCount()));
  std::vector<std::thread> workers;
  for (uint32_t worker = 1; worker < count; worker++)
    workers.emplace_back([&, worker] { runBlocks(launch, worker, next); });
  runBlocks(launch, 0, next);
  for (std::thread &worker : workers)
    worker.join();
}

} // namespace nncc::cuemu
