// NVRTC, the CUDA run-time compiler: CUDA C++ text to PTX or to machine code of one architecture. It needs neither a driver nor a
// device, so kernels can be compiled and inspected anywhere. (NVIDIA, "NVRTC", the library's documentation.)
#pragma once

#include "support/Error.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::rt::cuda {

/// What ptxas says of one kernel function.
struct KernelResources {
  std::string function;
  int registers = 0;         ///< per thread
  int spillStoreBytes = 0, spillLoadBytes = 0;
  int stackBytes = 0;        ///< per thread
  int sharedBytes = 0;       ///< static, per block
};

struct CompiledImage {
  std::string image; ///< a cubin, or PTX text
  std::string log;
  std::vector<KernelResources> resources; ///< empty for PTX
};

class Nvrtc {
public:
  /// The library. An environment error when it is missing, too old or lacks a function.
  static Result<std::shared_ptr<const Nvrtc>> get();

  int major() const { return majorVersion; }
  int minor() const { return minorVersion; }
  /// "13.0 (libnvrtc.so.13)"
  std::string describe() const;

  /// Architectures as `architecture` below takes them, without their prefix: 75, 80, ...
  std::vector<int> supportedArchitectures() const;
  /// The greatest of them that a device of this capability runs; -1 when there is none.
  int bestArchitecture(int capability) const;

  /// Compiles `source`. `architecture`: "sm_80" for machine code, "compute_80" for PTX. An unknown architecture is a user error that
  /// lists the known ones; source that does not compile is an internal error with the compiler's log, since nncc wrote it.
  /// May be called by several threads.
  Result<CompiledImage> compile(const std::string &source, const std::string &name, const std::string &architecture) const;

private:
  struct Functions;
  Nvrtc() = default;

  std::shared_ptr<const Functions> functions;
  std::string file;
  int majorVersion = 0, minorVersion = 0;
};

/// 80 for "sm_80" and "compute_80", 90 for "sm_90a"; -1 for anything else.
int architectureNumber(std::string_view architecture);

/// Reads the lines that `--ptxas-options=-v` leaves in a log.
std::vector<KernelResources> readResources(std::string_view log);

} // namespace nncc::rt::cuda
