// What NVIDIA's libraries are to the runtime: something that has functions for some kernels,
// several algorithms for each, and versions. CublasLt.h and Cudnn.h are the two that there are; a
// session is one instance's use of one of them.
#pragma once

#include "runtime/LibraryCall.h"
#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/StepAlternative.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace nncc::rt::cuda {

/// A call for known dims.
struct BoundCall : LibraryCallOf<int64_t> {
  int64_t alignmentBytes = 16; ///< of every operand and the result, at least
  CUdeviceptr weight = 0;      ///< where w lies when that is always the same place, else 0

  bool isEmpty() const;
};

/// Bytes of device memory that an algorithm may ask for.
inline constexpr int64_t kMostLibraryWorkspaceBytes = 32 << 20;

class LibrarySession {
public:
  virtual ~LibrarySession() = default;
  /// The algorithms that can do this, by names that `make` takes, the more promising first; empty
  /// when the library cannot do it.
  virtual Result<std::vector<std::string>> algorithms(const BoundCall &call) = 0;
  /// The call by an algorithm. A user error for one that does not fit the call.
  virtual Result<std::unique_ptr<StepAlternative>> make(const BoundCall &call,
                                                      const std::string &algorithm) = 0;
};

/// Weights of convolutions in the layout of a library, made when they are first needed: they stay
/// as long as the model.
class FilterStore {
public:
  explicit FilterStore(std::shared_ptr<const Device> device) : device(std::move(device)) {}

  /// [output][kernel position][channel of the group] of the weight of a call for a convolution's
  /// output; an address on the device. Waits for the stream.
  Result<CUdeviceptr> find(const BoundCall &call, CUstream stream);

private:
  using Key = std::pair<CUdeviceptr,
                        std::vector<int64_t>>; ///< where the packed weight lies, and what it is
  std::shared_ptr<const Device> device;
  std::mutex mutex;
  std::map<Key, DeviceBlock> filters;
};

/// Where a session works: all of it outlives the session.
struct SessionPlace {
  std::shared_ptr<const Device> device;
  std::shared_ptr<FilterStore> filters;
  CUstream stream = nullptr; ///< for what is prepared before a call
};

/// The names of the libraries in tuning files, and those that a call can use.
enum class LibraryKind : uint8_t { CublasLt, Cudnn };
inline constexpr LibraryKind kLibraryKinds[] = {LibraryKind::CublasLt, LibraryKind::Cudnn};
const char *nameOf(LibraryKind kind);

template <class Number> LibraryKind libraryOf(const LibraryCallOf<Number> &call) {
  return std::holds_alternative<Convolution<Number>>(call.operation) ? LibraryKind::Cudnn
                                                                     : LibraryKind::CublasLt;
}

/// How the names of the algorithms of a call's library begin, where a kernel has several calls.
template <class Number> std::string algorithmPrefixOf(const LibraryCallOf<Number> &call) {
  return call.pass == ConvolutionPass::DataGradient     ? "data "
         : call.pass == ConvolutionPass::WeightGradient ? "weight "
                                                        : "";
}

class KernelLibrary {
public:
  virtual ~KernelLibrary() = default;
  /// The library. An environment error when it is missing, too old or lacks a function.
  static Result<std::shared_ptr<const KernelLibrary>> get(LibraryKind kind);

  const std::string &version() const { return itsVersion; } ///< "13.0.2"
  const std::string &file() const { return itsFile; }
  /// With the device's context current.
  virtual Result<std::unique_ptr<LibrarySession>> open(SessionPlace place) const = 0;

protected:
  std::string itsVersion, itsFile;
};

Result<std::shared_ptr<const KernelLibrary>> loadCublasLt();
Result<std::shared_ptr<const KernelLibrary>> loadCudnn();

} // namespace nncc::rt::cuda
