// Pooling.
#include "frontend/nn/ops/Windows.h"

#include <fmt/format.h>

namespace nncc::frontend {

namespace {

template <typename Op, size_t SpatialRank, bool Average> OpResults pool(OpCall &call) {
  if (!call.expectRank("x", 2 + SpatialRank, imageForm(SpatialRank)))
    return {};
  auto windows = windowsOf(call, SpatialRank);
  if (!windows)
    return {};
  for (size_t i = 0; i < SpatialRank; ++i)
    // PyTorch's rule; it keeps every window on at least one element of the input.
    if (2 * std::max(windows->padsBegin[i], windows->padsEnd[i]) > windows->kernel[i]) {
      call.failAt("padding", fmt::format("padding must be at most half the kernel ({}), found {}",
                                         windows->kernel[i],
                                         std::max(windows->padsBegin[i], windows->padsEnd[i])));
      return {};
    }
  auto attributes = attributesOf(call, *windows);
  attributes.push_back(call.attribute("kernel", llvm::ArrayRef<int64_t>(windows->kernel)));
  if (call.flag("ceil_mode"))
    attributes.push_back(call.unit("ceil_mode"));
  if constexpr (Average)
    if (call.flag("count_include_pad"))
      attributes.push_back(call.unit("count_include_pad"));
  return call.create<Op>(call.tensor("x"), attributes);
}

template <typename Op, size_t SpatialRank> OpResults adaptivePool(OpCall &call) {
  if (!call.expectRank("x", 2 + SpatialRank, imageForm(SpatialRank)))
    return {};
  auto size = call.ints("size", SpatialRank, 1);
  if (!size)
    return {};
  return call.create<Op>(call.tensor("x"),
                         call.attribute("output_size", llvm::ArrayRef<int64_t>(*size)));
}

} // namespace

static constexpr std::string_view kMaxSignature =
    "x: tensor, kernel: ints, stride: ints? = none, padding: padding = 0, dilation: ints = 1, "
    "ceil_mode: bool = false";
static constexpr std::string_view kAvgSignature =
    "x: tensor, kernel: ints, stride: ints? = none, padding: padding = 0, dilation: ints = 1, "
    "ceil_mode: bool = false, "
    "count_include_pad: bool = true";

llvm::ArrayRef<OpEntry> poolOps() {
  static const OpEntry entries[] = {
      {"max_pool1d", "Pooling", kMaxSignature, "", "",
       "largest value of each window; stride none is the kernel", pool<nn::MaxPoolOp, 1, false>},
      {"max_pool2d", "Pooling", kMaxSignature, "", "", "the same over [N, C, H, W]",
       pool<nn::MaxPoolOp, 2, false>},
      {"max_pool3d", "Pooling", kMaxSignature, "", "", "the same over [N, C, D, H, W]",
       pool<nn::MaxPoolOp, 3, false>},
      {"avg_pool1d", "Pooling", kAvgSignature, "", "",
       "mean of each window; stride none is the kernel", pool<nn::AvgPoolOp, 1, true>},
      {"avg_pool2d", "Pooling", kAvgSignature, "", "", "the same over [N, C, H, W]",
       pool<nn::AvgPoolOp, 2, true>},
      {"avg_pool3d", "Pooling", kAvgSignature, "", "", "the same over [N, C, D, H, W]",
       pool<nn::AvgPoolOp, 3, true>},
      {"adaptive_avg_pool1d", "Pooling", "x: tensor, size: ints", "", "",
       "mean of windows that give this many outputs; 1 for global pooling",
       adaptivePool<nn::AdaptiveAvgPoolOp, 1>},
      {"adaptive_avg_pool2d", "Pooling", "x: tensor, size: ints", "", "",
       "the same over [N, C, H, W]", adaptivePool<nn::AdaptiveAvgPoolOp, 2>},
      {"adaptive_avg_pool3d", "Pooling", "x: tensor, size: ints", "", "",
       "the same over [N, C, D, H, W]", adaptivePool<nn::AdaptiveAvgPoolOp, 3>},
      {"adaptive_max_pool1d", "Pooling", "x: tensor, size: ints", "", "",
       "largest value of windows that give this many outputs",
       adaptivePool<nn::AdaptiveMaxPoolOp, 1>},
      {"adaptive_max_pool2d", "Pooling", "x: tensor, size: ints", "", "",
       "the same over [N, C, H, W]", adaptivePool<nn::AdaptiveMaxPoolOp, 2>},
      {"adaptive_max_pool3d", "Pooling", "x: tensor, size: ints", "", "",
       "the same over [N, C, D, H, W]", adaptivePool<nn::AdaptiveMaxPoolOp, 3>},
  };
  return entries;
}

} // namespace nncc::frontend
