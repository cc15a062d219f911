// The shape side of a convolution: extents and windows, as expressions over named dims. The emitters of all targets write code from
// it.
#pragma once

#include "ir/NN.h"
#include "ir/Shape.h"

#include <array>
#include <optional>

namespace nncc::codegen {

/// Spatial dimensions are normalised to three, D, H and W, with leading ones. A 1-D convolution slides along H, so that bands
/// of rows and the pool tail serve it too.
struct ConvGeometry {
  explicit ConvGeometry(nn::ConvOp conv);
  /// That of the convolution whose weight it is.
  explicit ConvGeometry(nn::ConvWeightGradientOp gradient);
  /// A matrix product seen as a convolution: one tap, `positions` in a column.
  ConvGeometry(mlir::MLIRContext *context, nn::Dim positions, int64_t channels, int64_t outputs);

  nn::ConvOp conv; ///< null where there is none
  mlir::MLIRContext *context;
  unsigned spatialRank;
  nn::Dim batch;
  int64_t groups, channels, groupChannels, outputs, groupOutputs;
  std::array<nn::Dim, 3> in, out;
  std::array<int64_t, 3> kernel, stride, dilation, padBegin, padEnd;

  nn::Dim constant(int64_t value) const { return nn::constantDim(context, value); }
  int64_t tapCount() const { return kernel[0] * kernel[1] * kernel[2]; }
  nn::Dim outPositions() const { return out[0] * out[1] * out[2]; }
  /// No window reaches outside the input.
  bool neverPads() const;
  /// Every output position reads the input position of the same index, and no other.
  bool isPointwise() const;
  /// The spatial position of the type's dimension 2 + i within D, H, W.
  unsigned slotOf(unsigned spatialDim) const;

private:
  ConvGeometry(mlir::MLIRContext *context, unsigned spatialRank);
  template <typename Op>
  void readWindows(Op op, mlir::RankedTensorType x, mlir::RankedTensorType weight, mlir::RankedTensorType result);
};

/// The one stride that walks all of `extents`, innermost last; nothing where there is a gap between two of them.
std::optional<nn::Dim> joinedStride(llvm::ArrayRef<nn::Dim> extents, llvm::ArrayRef<nn::Dim> strides);

} // namespace nncc::codegen
