// Loads the CUDA driver; see Driver.h.

#include "runtime/cuda/Driver.h"

#include "runtime/cuda/Library.h"

namespace nncc::rt::cuda {

/// CUDA 12.0: the oldest driver whose functions all stand in the table.
static constexpr int kOldestVersion = 12000;

/// What the runtime does not call.
static bool isOptional(std::string_view function) {
  return function == "cuEventElapsedTime_v2" || function == "cuGetExportTable";
}

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<std::shared_ptr<const Driver>> Driver::get() {
  LibrarySearch search;
  search.title = "The CUDA driver";
  search.variable = "NNCC_CUDA_DRIVER";
  search.names = {"libcuda.so.1"};
  search.advice = "Install NVIDIA's driver, use the CPU (--device=cpu)";
  auto library = Library::open(search);
  if (!library)
    return library.error();
  auto driver = std::make_shared<Driver>();
  driver->file = library->file();
  // Before the other functions, some of which an old driver has not got.
  if (auto found = library->find("cuDriverGetVersion", driver->cuDriverGetVersion); !found)
    return found.error();
  if (CUresult code = driver->cuDriverGetVersion(&driver->version))
    return driver->failure(code, "cuDriverGetVersion",
                           "cannot read the version of " + driver->file);
  if (driver->version < kOldestVersion)
    return environmentError("The CUDA driver " + driver->file + " is for CUDA " +
                            versionText(driver->version) + "; nncc needs one for CUDA " +
                            versionText(kOldestVersion) +
                            " or newer. Update NVIDIA's driver, or use the CPU (--device=cpu)");
#define X(name, parameters, arguments)                                                             \
  if (auto found = library->find(#name, driver->name); !found && !isOptional(#name))               \
    return found.error();
  NNCC_CUDA_FUNCTIONS(X)
#undef X
  if (CUresult code = driver->cuInit(0)) {
    Error error = driver->failure(code, "cuInit", "cannot initialise the driver " + driver->file);
    if (code == CUDA_ERROR_NO_DEVICE)
      error.message += "; use the CPU (--device=cpu)";
    return error;
  }
  return std::shared_ptr<const Driver>(std::move(driver));
}

std::string Driver::describe(CUresult code) const {
  switch (code) {
#define X(name, number, text)                                                                      \
  case name:                                                                                       \
    return #name " (" text ")";
    NNCC_CUDA_RESULTS(X)
#undef X
  }
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName && cuGetErrorString) {
    cuGetErrorName(code, &name);
    cuGetErrorString(code, &text);
  }
  return (name ? name : "the unknown code " + std::to_string(int(code))) +
         (text ? " (" + std::string(text) + ")" : "");
}

Error Driver::failure(CUresult code, const char *call, const std::string &what) const {
  return environmentError("CUDA: " + what + ": " + call + " returned " + describe(code));
}

} // namespace nncc::rt::cuda
