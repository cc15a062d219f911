// What nncc_model_info tells about a loaded program, with the memory of the strings and arrays that
// it points to.
#pragma once

#include "nncc/nncc.h"
#include "runtime/LoadedProgram.h"

#include <deque>

namespace nncc::rt {

class ModelInfo {
public:
  /// `targets`: see describeTargets.
  ModelInfo(const LoadedProgram &model, std::string targets);
  ModelInfo(const ModelInfo &) = delete;

  const nncc_model_info &get() const { return info; }

private:
  const char *keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }
  nncc_tensor_info describe(const Buffer &buffer, std::span<const std::string> dimNames);

  nncc_model_info info{};
  std::deque<std::string> texts; ///< a deque, since its elements stay where they are
  std::deque<std::vector<nncc_extent>> shapes;
  std::vector<nncc_dim_info> dims;
  std::vector<nncc_tensor_info> inputs, outputs, parameters, trainInputs, trainOutputs, states;
  std::vector<nncc_kernel_info> kernels;
  std::vector<nncc_value_range> trainRanges;
};

} // namespace nncc::rt
