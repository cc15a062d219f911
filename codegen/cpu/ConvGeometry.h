// The shape side of a convolution kernel: extents, windows and how its work is cut into tasks, as expressions over named dims.
// Conv.cpp and Depthwise.cpp write code from it.
#pragma once

#include "codegen/cpu/EmitKernel.h"

#include <array>

namespace nncc::codegen {

/// Spatial dimensions are normalised to three, D, H and W, with leading ones. A 1-D convolution slides along H, so that bands
/// of rows and the pool tail serve it too.
struct ConvGeometry {
  explicit ConvGeometry(nn::ConvOp conv);

  nn::ConvOp conv;
  mlir::MLIRContext *context;
  nn::Dim batch;
  int64_t groups, channels, groupChannels, outputs, groupOutputs;
  std::array<nn::Dim, 3> in, out;
  std::array<int64_t, 3> kernel, stride, dilation, padBegin, padEnd;

  nn::Dim constant(int64_t value) const { return nn::constantDim(context, value); }
  int64_t tapCount() const { return kernel[0] * kernel[1] * kernel[2]; }
  nn::Dim outPositions() const { return out[0] * out[1] * out[2]; }
  /// No window reaches outside the input.
  bool neverPads() const;
  /// The spatial position of the type's dimension 2 + i within D, H, W.
  unsigned slotOf(unsigned spatialDim) const;
};

/// How many equal bands of at most `target` positions a static extent is cut into; for a dynamic extent, bands of `target`.
struct Bands {
  Bands(nn::Dim extent, int64_t target);
  nn::Dim count; ///< bands
  int64_t size;  ///< positions of every band but the last
  /// Positions that a band can have; nothing when the extent is dynamic.
  std::optional<llvm::SmallVector<int64_t>> sizes;
};

/// Panels per task so that one image gives several threads enough tasks.
int64_t panelsPerTask(int64_t panels, std::optional<int64_t> bandsPerImage);

} // namespace nncc::codegen
