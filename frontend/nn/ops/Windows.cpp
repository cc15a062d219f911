// Kernels, strides, dilations and padding of convolutions and pools.
#include "frontend/nn/ops/Windows.h"

#include <fmt/format.h>

namespace nncc::frontend {

llvm::StringRef imageForm(size_t spatialRank) {
  static constexpr llvm::StringLiteral forms[] = {"[N, C, L]", "[N, C, H, W]", "[N, C, D, H, W]"};
  return forms[spatialRank - 1];
}

namespace {

/// "same": as many outputs as ceil(input / stride); an odd pad goes behind, as in PyTorch and
/// TensorFlow.
bool padSame(OpCall &call, Windows &windows) {
  for (size_t i = 0; i < windows.kernel.size(); ++i) {
    CheckedSize reach = CheckedSize(windows.dilation[i]) * (CheckedSize(windows.kernel[i]) - 1) + 1;
    CheckedSize total = reach - 1;
    if (windows.stride[i] > 1) {
      std::optional<int64_t> extent =
          call.staticDim("x", 2 + i, "with padding \"same\" and a stride, an extent");
      if (!extent)
        return false;
      CheckedSize outputs = ceilDiv(CheckedSize(*extent), CheckedSize(windows.stride[i]));
      total = (outputs - 1) * windows.stride[i] + reach - *extent;
    }
    if (!total.valid()) {
      call.failAt("kernel", "the dilated kernel is too large");
      return false;
    }
    int64_t pads = std::max<int64_t>(0, *total.get());
    windows.padsBegin.push_back(pads / 2);
    windows.padsEnd.push_back(pads - pads / 2);
  }
  return true;
}

bool readPadding(OpCall &call, Windows &windows) {
  size_t rank = windows.kernel.size();
  const NnValue &padding = call.arg("padding");
  if (padding.as<std::string>()) {
    std::optional<size_t> mode = call.choice("padding", {"same", "valid"});
    if (!mode)
      return false;
    if (*mode == 0)
      return padSame(call, windows);
    windows.padsBegin.assign(rank, 0);
    windows.padsEnd.assign(rank, 0);
    return true;
  }
  auto *list = padding.as<ListValue>();
  bool pairs = list && !(*list)->empty() && (**list)[0].as<ListValue>();
  if (!pairs) {
    auto pads = call.ints("padding", rank, 0);
    if (!pads)
      return false;
    windows.padsBegin = windows.padsEnd = *pads;
    return true;
  }
  if ((*list)->size() != rank) {
    call.failAt("padding", fmt::format("padding takes {} pairs [before, after], found {}", rank,
                                       (*list)->size()));
    return false;
  }
  for (const NnValue &pair : **list) {
    const NnList &ends = **pair.as<ListValue>();
    int64_t begin = *ends[0].as<int64_t>(), end = *ends[1].as<int64_t>();
    if (begin < 0 || end < 0) {
      call.failAt("padding", "padding must not be negative");
      return false;
    }
    windows.padsBegin.push_back(begin);
    windows.padsEnd.push_back(end);
  }
  return true;
}

} // namespace

std::optional<Windows> windowsOf(OpCall &call, size_t spatialRank) {
  Windows windows;
  auto kernel = call.ints("kernel", spatialRank, 1);
  auto dilation = kernel ? call.ints("dilation", spatialRank, 1) : std::nullopt;
  if (!dilation)
    return std::nullopt;
  windows.kernel = *kernel;
  windows.dilation = *dilation;
  windows.stride = *kernel;
  if (call.has("stride")) {
    auto stride = call.ints("stride", spatialRank, 1);
    if (!stride)
      return std::nullopt;
    windows.stride = *stride;
  }
  if (!readPadding(call, windows))
    return std::nullopt;
  return windows;
}

llvm::SmallVector<mlir::NamedAttribute> attributesOf(OpCall &call, const Windows &windows) {
  using Ints = llvm::ArrayRef<int64_t>;
  return {call.attribute("strides", Ints(windows.stride)),
          call.attribute("dilations", Ints(windows.dilation)),
          call.attribute("pads_begin", Ints(windows.padsBegin)),
          call.attribute("pads_end", Ints(windows.padsEnd))};
}

} // namespace nncc::frontend
