// The data gradient of a convolution with a stride as our kernels have it: a convolution of stride 1 that makes, for each position q,
// the elements at stride * q + r for all residues r, in the order [image][q][group][r][channel]. Its weight has for each r the taps
// that reach there: tap k of the convolution is tap m of residue r where r + pad - k = stride * (first + m). A library has neither; here
// is what leads from the one to the other.
#pragma once

#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/RuntimeKernel.h"

namespace nncc::rt::cuda {

/// A data gradient whose result lies in that order.
bool isInResidueOrder(const LibraryCallOf<int64_t> &call);

/// Along one dimension: how our taps and residues follow from those of the convolution.
struct ResidueTaps {
  ResidueTaps(int64_t kernel, int64_t stride, int64_t pad);
  int64_t first = 0; ///< position that the first tap reads, from q
  int64_t taps = 0;  ///< of each residue
};

class ResidueOrder {
public:
  /// An environment error without NVRTC.
  static Result<ResidueOrder> create(std::shared_ptr<const Device> device, DType dtype);
  /// Brings a dense channels-last tensor, the gradient that the shape says, into that order.
  Result<void> launch(const Convolution<int64_t> &shape, CUdeviceptr from, CUdeviceptr to, CUstream stream) const;

private:
  explicit ResidueOrder(RuntimeKernel kernel) : kernel(std::move(kernel)) {}
  RuntimeKernel kernel;
};

/// The call, for which `inner` makes a dense channels-last result.
std::unique_ptr<StepAlternative> makeResidueCall(std::shared_ptr<const ResidueOrder> order, const BoundCall &call,
                                                 std::unique_ptr<StepAlternative> inner);

} // namespace nncc::rt::cuda
