// What was measured on a device and what follows from it, as a JSON file for people and programs:
// for each kind of device the kernels that have an alternative, at the dims for which they were
// measured, with the times and the choice. Reading trusts nothing.
#pragma once

#include "support/Error.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::rt::cuda {

/// The choice for one kernel at certain dims.
struct TunedKernel {
  std::string identity;                ///< of the kernel's source: KernelCache::keyOf
  std::string name;                    ///< for people: "matmul_bias_relu"
  std::map<std::string, int64_t> dims; ///< named dims of the run: {"N": 64}
  std::string use;                     ///< "nncc", "cublasLt" or "cudnn"
  std::string algorithm; ///< of a library, or another tile of nncc's; empty: the kernel as it is
  /// What was measured: the median by "nncc", "cublasLt", "cudnn", "nncc, " and another tile.
  std::map<std::string, double> microseconds;
  std::vector<std::string> notes; ///< what was left out and why

  bool isTile() const { return use == "nncc" && !algorithm.empty(); }
  /// The same kernel at the same dims.
  bool isFor(std::string_view otherIdentity,
             const std::map<std::string, int64_t> &otherDims) const {
    return identity == otherIdentity && dims == otherDims;
  }
};

/// What was measured on one kind of device.
struct TunedDevice {
  std::string name;         ///< "NVIDIA H200"
  std::string architecture; ///< "sm_90"
  std::string driver;       ///< "13.0", for information: choices hold for any driver
  std::map<std::string, std::string> libraries; ///< versions: {"cublasLt": "13.0.2"}
  std::vector<TunedKernel> kernels;
};

struct TuningFile {
  std::vector<TunedDevice> devices;

  /// A user error that says where the text is wrong. `path` stands in errors.
  static Result<TuningFile> read(std::string_view text, const std::string &path);
  /// From the file at `path`; nothing when there is no such file.
  static Result<std::optional<TuningFile>> load(const std::string &path);
  std::string write() const;

  const TunedDevice *find(std::string_view name, std::string_view architecture) const;
};

} // namespace nncc::rt::cuda
