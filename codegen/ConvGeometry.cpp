// The shape side of a convolution kernel; see ConvGeometry.h.

#include "codegen/ConvGeometry.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

unsigned ConvGeometry::slotOf(unsigned spatialDim) const {
  return spatialRank == 1 ? 1 : 3 - spatialRank + spatialDim;
}

ConvGeometry::ConvGeometry(MLIRContext *context, unsigned spatialRank) : context(context), spatialRank(spatialRank) {
  in.fill(constant(1));
  out.fill(constant(1));
  kernel.fill(1);
  stride.fill(1);
  dilation.fill(1);
  padBegin.fill(0);
  padEnd.fill(0);
}

template <typename Op>
void ConvGeometry::readWindows(Op op, RankedTensorType x, RankedTensorType weight, RankedTensorType result) {
  batch = nn::dimOf(x, 0);
  groups = op.getGroups();
  channels = x.getDimSize(1);
  groupChannels = channels / groups;
  outputs = weight.getDimSize(0);
  groupOutputs = outputs / groups;
  for (unsigned i = 0; i < spatialRank; ++i) {
    unsigned slot = slotOf(i);
    in[slot] = nn::dimOf(x, 2 + i);
    out[slot] = nn::dimOf(result, 2 + i);
    kernel[slot] = weight.getDimSize(2 + i);
    stride[slot] = op.getStrides()[i];
    dilation[slot] = op.getDilations()[i];
    padBegin[slot] = op.getPadsBegin()[i];
    padEnd[slot] = op.getPadsEnd()[i];
  }
}

ConvGeometry::ConvGeometry(nn::ConvOp op) : ConvGeometry(op.getContext(), op.spatialRank()) {
  conv = op;
  readWindows(op, op.inputType(), op.weightType(), op.resultType());
}

ConvGeometry::ConvGeometry(nn::ConvWeightGradientOp op)
    : ConvGeometry(op.getContext(), op.getStrides().size()) {
  readWindows(op, cast<RankedTensorType>(op.getX().getType()), cast<RankedTensorType>(op.getResult().getType()),
              cast<RankedTensorType>(op.getG().getType()));
}

ConvGeometry::ConvGeometry(MLIRContext *context, nn::Dim positions, int64_t channels, int64_t outputs)
    : ConvGeometry(context, 1) {
  batch = constant(1);
  groups = 1;
  this->channels = groupChannels = channels;
  this->outputs = groupOutputs = outputs;
  in[1] = out[1] = positions;
}

std::optional<nn::Dim> codegen::joinedStride(ArrayRef<nn::Dim> extents, ArrayRef<nn::Dim> strides) {
  nn::Dim stride, next; // of the innermost, and what the one outside of those seen has to be
  for (auto [extent, own] : llvm::reverse(llvm::zip_equal(extents, strides))) {
    if (nn::constantOf(extent) == 1)
      continue;
    if (stride && own != next)
      return std::nullopt;
    if (!stride)
      stride = own;
    next = own * extent;
  }
  if (!stride)
    stride = strides.empty() ? nn::Dim() : nn::constantDim(strides[0].getContext(), 0);
  return stride;
}

bool ConvGeometry::neverPads() const {
  for (unsigned i = 0; i < 3; ++i)
    if (padBegin[i] || padEnd[i])
      return false;
  return true;
}

bool ConvGeometry::isPointwise() const {
  return tapCount() == 1 && neverPads() && stride[0] == 1 && stride[1] == 1 && stride[2] == 1;
}
