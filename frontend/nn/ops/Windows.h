// What convolutions and pools share: a window over spatial dimensions, with PyTorch's arguments.
#pragma once

#include "frontend/nn/OpCall.h"

namespace nncc::frontend {

struct Windows {
  llvm::SmallVector<int64_t> kernel, stride, dilation, padsBegin, padsEnd;
};

/// "[N, C, H, W]" for two spatial dimensions.
llvm::StringRef imageForm(size_t spatialRank);

/// Reads kernel, stride, dilation and padding of a call on `x` with this many spatial dimensions.
/// `stride` none means the kernel, as in pooling.
std::optional<Windows> windowsOf(OpCall &call, size_t spatialRank);

llvm::SmallVector<mlir::NamedAttribute> attributesOf(OpCall &call, const Windows &windows);

} // namespace nncc::frontend
