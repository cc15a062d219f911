// Loads the CUDA driver; see Driver.h.

#include "runtime/cuda/Driver.h"

#include "runtime/cuda/Library.h"

namespace nncc::rt::cuda {

/// CUDA 12.0: the oldest driver whose functions all stand in the table.
static constexpr int kOldestVersion = 12000;

static Result<Driver *> load() {
  LibrarySearch search;
  search.title = "The CUDA driver";
  search.variable = "NNCC_CUDA_DRIVER";
  search.names = {"libcuda.so.1"};
  search.advice = "Install NVIDIA's driver, use the CPU (--device=cpu)";
  auto library = Library::open(search);
  if (!library)
    return library.error();
  static Driver driver;
#define X(name, parameters, arguments)                                                                                 \
  if (auto found = library->find(#name, driver.name); !found)                                                          \
    return found.error();
  NNCC_CUDA_FUNCTIONS(X)
#undef X
  if (auto done = driver.check(driver.cuInit(0), "initialising the CUDA driver " + library->file()); !done)
    return done.error();
  if (auto done = driver.check(driver.cuDriverGetVersion(&driver.version), "reading the CUDA driver's version"); !done)
    return done.error();
  auto text = [](int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); };
  if (driver.version < kOldestVersion)
    return environmentError("The CUDA driver " + library->file() + " is for CUDA " + text(driver.version) + "; nncc needs one for " +
                            text(kOldestVersion) + " or newer. Update NVIDIA's driver, or use the CPU (--device=cpu)");
  return &driver;
}

Result<const Driver *> Driver::get() {
  static Result<Driver *> loaded = load();
  if (!loaded)
    return loaded.error();
  return *loaded;
}

Result<void> Driver::check(CUresult done, const std::string &what) const {
  if (done == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(done, &name);
  cuGetErrorString(done, &text);
  return environmentError("CUDA: " + what + " failed: " + (name ? name : std::to_string(int(done))) +
                          (text ? std::string(": ") + text : ""));
}

} // namespace nncc::rt::cuda
