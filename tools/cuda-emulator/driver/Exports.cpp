// The exported functions, all of one form: fail if told to, refuse before cuInit, take the lock, return a
// kernel's earlier fault, else do the work in calls::. And cuGetProcAddress over them.
#include "tools/cuda-emulator/driver/FaultInjection.h"
#include "tools/cuda-emulator/driver/Report.h"
#include "tools/cuda-emulator/driver/State.h"

#include <cstdio>
#include <cstring>
#include <set>
#include <string_view>

namespace nncc::cuemu {

void report(const std::string &message) {
  const std::string &path = state().settings.reportFile;
  std::FILE *file = path.empty() ? nullptr : std::fopen(path.c_str(), "a");
  std::fprintf(file ? file : stderr, "cuda-emulator: %s\n", message.c_str());
  if (file)
    std::fclose(file);
}

namespace {

// Calls that work before cuInit.
const std::set<std::string_view> withoutInit = {"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
                                                "cuGetProcAddress_v2"};

// Calls that a kernel's fault does not stop: those that ask about devices, and those that clean up.
bool survivesFault(std::string_view name) {
  for (std::string_view prefix : {"cuDevice", "cuCtxCreate", "cuCtxDestroy", "cuCtxSetCurrent", "cuCtxGet", "cuCtxPush",
                                  "cuCtxPop", "cuGetProcAddress"})
    if (name.substr(0, prefix.size()) == prefix)
      return true;
  return withoutInit.count(name) > 0;
}

template <typename Work> CUresult enter(const char *name, Work work) {
  if (std::optional<CUresult> failure = injectedFailure(name))
    return *failure;
  State &process = state();
  std::lock_guard lock(process.mutex);
  if (!process.isInitialised && !withoutInit.count(name))
    return CUDA_ERROR_NOT_INITIALIZED;
  if (Context *context = currentContext();
      context && context->stickyError != CUDA_SUCCESS && !survivesFault(name))
    return context->stickyError;
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

} // namespace
} // namespace nncc::cuemu

using namespace nncc::cuda;

extern "C" {
#define X(name, parameters, arguments)                                                                                 \
  __attribute__((visibility("default"))) CUresult name parameters {                                                    \
    return nncc::cuemu::enter(#name, [&] { return nncc::cuemu::calls::name arguments; });                              \
  }
NNCC_CUDA_FUNCTIONS(X)
#undef X
}

namespace nncc::cuemu {

void *exportedFunction(const std::string &name) {
  static const std::unordered_map<std::string, void *> functions = {
#define X(name, parameters, arguments) {#name, reinterpret_cast<void *>(&::name)},
      NNCC_CUDA_FUNCTIONS(X)
#undef X
  };
  for (const char *version : {"_v2", ""})
    if (auto entry = functions.find(name + version); entry != functions.end())
      return entry->second;
  return nullptr;
}

CUresult calls::cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t,
                                    CUdriverProcAddressQueryResult *status) {
  if (!symbol || !function)
    return CUDA_ERROR_INVALID_VALUE;
  *function = exportedFunction(symbol);
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (*function)
    return CUDA_SUCCESS;
  report("cuGetProcAddress: the emulator has no function '" + std::string(symbol) + "'");
  return CUDA_ERROR_NOT_FOUND;
}

} // namespace nncc::cuemu
