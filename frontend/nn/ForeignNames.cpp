// The tables behind the advice.
#include "frontend/nn/ForeignNames.h"

#include "frontend/nn/Spelling.h"

#include <fmt/format.h>

#include <algorithm>

namespace nncc::frontend {

namespace {

/// Names of operations and arguments that the spelling does not lead to ours; without regard to
/// letter case.
constexpr std::pair<std::string_view, std::string_view> foreignNames[] = {
    // Operations.
    {"amax", "reduce_max"},
    {"amin", "reduce_min"},
    {"batchnorm1d", "batch_norm"},
    {"batchnorm2d", "batch_norm"},
    {"batchnorm3d", "batch_norm"},
    {"batchnormalization", "batch_norm"},
    {"bmm", "matmul"},
    {"cat", "concat"},
    {"chunk", "split"},
    {"clamp", "clip"},
    {"concatenate", "concat"},
    {"conv2dtranspose", "conv_transpose2d"},
    {"dense", "linear"},
    {"dropout2d", "dropout"},
    {"expand_dims", "unsqueeze"},
    {"fully_connected", "linear"},
    {"global_avg_pool2d", "adaptive_avg_pool2d"},
    {"globalaveragepooling2d", "adaptive_avg_pool2d"},
    {"globalmaxpooling2d", "adaptive_max_pool2d"},
    {"index_select", "gather"},
    {"interpolate", "resize"},
    {"layernormalization", "layer_norm"},
    {"masked_fill", "where"},
    {"maximum", "max"},
    {"maxpooling2d", "max_pool2d"},
    {"averagepooling2d", "avg_pool2d"},
    {"minimum", "min"},
    {"mm", "matmul"},
    {"multiply", "mul"},
    {"permute", "transpose"},
    {"scaled_dot_product_attention", "attention"},
    {"swish", "silu"},
    {"take", "gather"},
    {"upsample", "resize"},
    {"upsampling2d", "resize"},
    {"view", "reshape"},
    // Arguments.
    {"attn_mask", "mask"},
    {"dilations", "dilation"},
    {"dilation_rate", "dilation"},
    {"dim", "axis"},
    {"embedding_dim", "features"},
    {"epsilon", "eps"},
    {"filters", "out_channels"},
    {"hidden_size", "hidden"},
    {"is_causal", "causal"},
    {"keepdim", "keepdims"},
    {"kernel_size", "kernel"},
    {"normalized_shape", "dims"},
    {"num_embeddings", "rows"},
    {"num_groups", "groups"},
    {"num_heads", "heads"},
    {"num_layers", "layers"},
    {"output_size", "size"},
    {"pad", "padding"},
    {"pool_size", "kernel"},
    {"rate", "p"},
    {"scale_factor", "scale"},
    {"strides", "stride"},
    {"units", "out_features"},
    {"use_bias", "bias"},
};

constexpr std::pair<std::string_view, std::string_view> foreignArguments[] = {
    {"activation", "call the activation on the result, as in relu(...)"},
    {"device", "where a model runs is chosen when it is compiled; remove it"},
    {"in_channels", "it follows from the input; remove it"},
    {"inplace", "nncc decides what to compute in place; remove it"},
    {"input_shape", "it follows from the model's inputs; remove it"},
    {"input_size", "it follows from the input; remove it"},
    {"name", "name the call's parameters with 'as' behind its ')'"},
    {"num_features", "it follows from the input; remove it"},
    {"padding_mode", "pad beforehand, as in pad(x, [[1, 1], [1, 1]], mode = \"reflect\")"},
    {"training", "the train section says how a model is trained; remove it"},
};

std::string lowered(std::string_view name) {
  std::string result(name);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

bool contains(const std::vector<std::string> &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The operation or argument of ours that the name stands for; empty when there is none near.
std::string ourName(std::string_view name, const std::vector<std::string> &candidates) {
  std::string lower = lowered(name);
  for (const auto &[foreign, ours] : foreignNames)
    if (lower == foreign && contains(candidates, ours))
      return std::string(ours);
  return closestName(name, candidates).value_or("");
}

} // namespace

std::string suggestName(std::string_view name, const std::vector<std::string> &candidates) {
  std::string ours = ourName(name, candidates);
  return ours.empty() ? "" : fmt::format("; did you mean '{}'?", ours);
}

std::string adviceForCallee(std::string_view callee, bool baseIsValue,
                            const std::vector<std::string> &candidates) {
  size_t dot = callee.rfind('.');
  if (dot == std::string_view::npos)
    return suggestName(callee, candidates);
  std::string_view base = callee.substr(0, dot), name = callee.substr(dot + 1);
  if (base == "self")
    return fmt::format("; layers need no declaration: write the operation where it is used and "
                       "name its parameters, as in linear(x, 64) as {}",
                       name);
  std::string ours = contains(candidates, name) ? std::string(name) : ourName(name, candidates);
  if (!baseIsValue)
    return ours.empty() ? "" : fmt::format("; did you mean '{}'?", ours);
  if (name == "size" || name == "dim")
    return fmt::format("; a tensor's dimensions are {0}.shape, their number is {0}.rank", base);
  return fmt::format("; values have no methods: write {}({}, ...)", ours.empty() ? name : ours,
                     base);
}

std::string adviceForArgument(std::string_view name) {
  for (const auto &[foreign, advice] : foreignArguments)
    if (foreign == name)
      return fmt::format("; {}", advice);
  return {};
}

} // namespace nncc::frontend
