// Which functions of NVIDIA's libraries compute what a contraction kernel does: takes the kernel's
// body, leaves the calls. A kernel that no function computes with the same operands at the same
// places has none.
#pragma once

#include "codegen/KernelTarget.h"
#include "codegen/cuda/CudaOptions.h"
#include "ir/Kernel.h"

#include <vector>

namespace nncc::codegen::cuda {

/// For nn.matmul, nn.conv and nn.conv_weight_gradient, depthwise or not, as anchors; none for any
/// other.
std::vector<LibraryCall> alternativesOf(nn::KernelOp kernel, const nn::AnchoredBody &body,
                                        const CudaOptions &options);

} // namespace nncc::codegen::cuda
