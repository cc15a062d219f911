// Brings a convolution's filter from one layout into another on the device: a library reads and writes filters with channels
// innermost, our kernels panels of output channels, and a parameter lies as PyTorch has it. For filters that change from run to run,
// as all of them do in training; FilterStore does it once for those that stay.
#pragma once

#include "runtime/LibraryCall.h"
#include "runtime/cuda/RuntimeKernel.h"

namespace nncc::rt::cuda {

/// Elements from one index to the next.
struct FilterStrides {
  int64_t offset = 0, group = 0, output = 0, tap = 0, channel = 0;
  bool isByResidues = false; ///< the taps lie as ResidueOrder.h says; only to copy from

  /// As the call says; a data gradient has its taps in reverse, or by residues.
  static FilterStrides ofCall(const LibraryCallOf<int64_t> &call);
  /// [group][output][tap][channel], dense.
  static FilterStrides channelsInnermost(const Convolution<int64_t> &shape);
  /// From its offset on the filter lies so. What has one place along an index may have any stride there.
  bool areChannelsInnermost(const Convolution<int64_t> &shape) const;
};

class FilterCopier {
public:
  /// Compiles the kernel by NVRTC, or finds it in the kernel cache: an environment error without NVRTC.
  static Result<FilterCopier> create(std::shared_ptr<const Device> device, DType dtype);

  /// On the stream. A user error for a filter that no grid covers.
  Result<void> launch(const Convolution<int64_t> &shape, CUdeviceptr from, const FilterStrides &fromStrides,
                      CUdeviceptr to, const FilterStrides &toStrides, CUstream stream) const;

private:
  explicit FilterCopier(RuntimeKernel kernel) : kernel(std::move(kernel)) {}
  RuntimeKernel kernel;
};

} // namespace nncc::rt::cuda
