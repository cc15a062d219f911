// The shape side of a convolution kernel; see ConvGeometry.h.

#include "codegen/ConvGeometry.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

unsigned ConvGeometry::slotOf(unsigned spatialDim) const {
  // Op accessors are not const.
  unsigned rank = nn::ConvOp(conv).spatialRank();
  return rank == 1 ? 1 : 3 - rank + spatialDim;
}

ConvGeometry::ConvGeometry(nn::ConvOp conv) : conv(conv), context(conv.getContext()) {
  RankedTensorType x = conv.inputType(), weight = conv.weightType(), result = conv.resultType();
  batch = nn::dimOf(x, 0);
  groups = conv.getGroups();
  channels = x.getDimSize(1);
  groupChannels = channels / groups;
  outputs = weight.getDimSize(0);
  groupOutputs = outputs / groups;
  in.fill(constant(1));
  out.fill(constant(1));
  kernel.fill(1);
  stride.fill(1);
  dilation.fill(1);
  padBegin.fill(0);
  padEnd.fill(0);
  for (unsigned i = 0; i < conv.spatialRank(); ++i) {
    unsigned slot = slotOf(i);
    in[slot] = nn::dimOf(x, 2 + i);
    out[slot] = nn::dimOf(result, 2 + i);
    kernel[slot] = weight.getDimSize(2 + i);
    stride[slot] = conv.getStrides()[i];
    dilation[slot] = conv.getDilations()[i];
    padBegin[slot] = conv.getPadsBegin()[i];
    padEnd[slot] = conv.getPadsEnd()[i];
  }
}

bool ConvGeometry::neverPads() const {
  for (unsigned i = 0; i < 3; ++i)
    if (padBegin[i] || padEnd[i])
      return false;
  return true;
}
