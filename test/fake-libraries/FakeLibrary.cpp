// Compiling, launching and failing of the stand-ins; see FakeLibrary.h.

#include "FakeLibrary.h"

#include "runtime/cuda/Device.h"
#include "runtime/cuda/Nvrtc.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace nncc::rt::cuda;

namespace {

constexpr const char *kPrelude = R"(
__device__ double load(const void *base, long long i, int type) {
  if (type == 0) return ((const float *)base)[i];
  if (type == 1) return ((const double *)base)[i];
  unsigned short bits = ((const unsigned short *)base)[i];
  float value;
  if (type == 2) asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  else value = __uint_as_float((unsigned)bits << 16);
  return value;
}
__device__ void store(void *base, long long i, int type, double value) {
  if (type == 0) { ((float *)base)[i] = value; return; }
  if (type == 1) { ((double *)base)[i] = value; return; }
  float narrow = value;
  unsigned short bits;
  if (type == 2) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(narrow));
  } else {
    unsigned whole = __float_as_uint(narrow);
    bits = (narrow != narrow) ? 0x7fc0 : (whole + 0x7fff + (whole >> 16 & 1)) >> 16;
  }
  ((unsigned short *)base)[i] = bits;
}
__device__ double activate(double x, int activation) {
  if (activation == 1) return x > 0 ? x : 0;
  if (activation == 2) return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}
)";

struct Kernels {
  std::shared_ptr<const Driver> driver;
  std::mutex mutex;
  std::map<std::pair<CUcontext, std::string>, CUfunction> functions;
};

/// Stays until the process ends, as the driver does.
Kernels &kernels() {
  static Kernels &all = *new Kernels;
  return all;
}

CUfunction compile(const Driver &driver, const char *text, const char *kernel) {
  auto nvrtc = Nvrtc::get();
  auto image =
      nvrtc ? (*nvrtc)->compile(std::string(kPrelude) + text, kernel, "compute_75") : nvrtc.error();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (!image || driver.cuModuleLoadData(&module, image->image.c_str()) ||
      driver.cuModuleGetFunction(&function, module, kernel)) {
    std::fprintf(stderr, "fake library: %s\n",
                 image ? "its kernel cannot be loaded" : image.error().message.c_str());
    return nullptr;
  }
  return function;
}

} // namespace

int fakelibrary::failureOf(const char *function) {
  const char *rule = std::getenv("NNCC_FAKE_FAIL");
  static std::map<std::string, int> &calls = *new std::map<std::string, int>;
  static std::mutex &mutex = *new std::mutex;
  std::scoped_lock lock(mutex);
  int number = ++calls[function];
  if (!rule)
    return 0;
  char name[128] = "", time[16] = "";
  int status = 0;
  if (std::sscanf(rule, "%127[^:]:%15[^:]:%d", name, time, &status) != 3 ||
      std::strcmp(name, function) != 0)
    return 0;
  return time[0] == '*' || std::atoi(time) == number ? status : 0;
}

bool fakelibrary::isWrong() {
  const char *value = std::getenv("NNCC_FAKE_WRONG");
  return value && *value == '1';
}

bool fakelibrary::launch(const char *text, const char *kernel, int64_t elements, void **arguments,
                         void *stream) {
  Kernels &all = kernels();
  std::scoped_lock lock(all.mutex);
  if (!all.driver) {
    auto driver = Driver::get();
    if (!driver)
      return false;
    all.driver = *driver;
  }
  CUcontext context = nullptr;
  if (all.driver->cuCtxGetCurrent(&context) || !context)
    return false;
  CUfunction &function = all.functions[{context, kernel}];
  if (!function)
    function = compile(*all.driver, text, kernel);
  constexpr int64_t kThreads = 128;
  return function &&
         all.driver->cuLaunchKernel(
             function, static_cast<unsigned>((elements + kThreads - 1) / kThreads), 1, 1, kThreads,
             1, 1, 0, static_cast<CUstream>(stream), arguments, nullptr) == 0;
}
