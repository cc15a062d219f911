// From the command line's --input, --dim and --batch to one tensor per input of the model.
#pragma once

#include "runtime/HostTensor.h"
#include "support/Error.h"
#include "tools/support/Model.h"

#include <map>
#include <optional>

namespace nncc::tools {

struct InputRequest {
  std::vector<std::string> inputs; ///< as kInputSyntax says
  std::vector<std::string> dims;   ///< NAME=8
  int64_t batch = 0;               ///< 0: not given
  bool randomWhenMissing = false;  ///< for benchmarks
};

inline constexpr const char *kInputSyntax =
    "NAME=@file.npy, NAME=@image.png (or .jpg), NAME=random[:SEED] or NAME=2x2xf32=1,2,3,4";

/// Tensors in the order of the model's inputs. All mistakes are user errors.
Result<std::vector<rt::HostTensor>> makeInputs(const nncc_model_info &info,
                                               const InputRequest &request);

/// Borrows the tensor, which has to stay.
DLTensor describe(rt::HostTensor &tensor);

/// Values of the named dims that these inputs imply, in the model's order.
std::vector<int64_t> dimsOf(const nncc_model_info &info, std::span<const rt::HostTensor> inputs);

/// The extents of `tensor` for these dims; nothing when they overflow.
std::optional<std::vector<int64_t>> shapeFor(const nncc_model_info &info,
                                             const nncc_tensor_info &tensor,
                                             std::span<const int64_t> dims);

} // namespace nncc::tools
