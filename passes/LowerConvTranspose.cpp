// Rewrites transposed convolutions as convolutions, which have the fast kernels. An output position s * q + r of a transposed
// convolution with stride s reads a few neighbours of input position q, and which taps of the kernel it reads depends on r alone.
// So one convolution of stride 1 computes, for each q, all s^2 positions as further output channels, and a movement puts them side
// by side (sub-pixel convolution; Shi et al., 2016). With stride 1 that is the convolution with the mirrored kernel. Runs before
// layouts, packing and fusion, which see a convolution like any other; the new weight depends on the old alone and is prepared.

#include "passes/Passes.h"
#include "ir/TensorBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace nncc::passes {
#define GEN_PASS_DEF_LOWERCONVTRANSPOSE
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;
using nn::dimsBetween;

namespace {

int64_t floorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// One spatial dimension: tap m of the new kernel reads position q + first + m * spacing of the input, for every residue r of the
/// output.
struct SpatialDim {
  SpatialDim(nn::ConvTransposeOp op, unsigned i, int64_t kernel, int64_t in, int64_t out)
      : stride(op.getStrides()[i]), dilation(op.getDilations()[i]), kernel(kernel), pad(op.getPadsBegin()[i]),
        spacing(stride == 1 ? dilation : 1) {
    // Output s * q + r reads input (s * q + r + pad - k * dilation) / s where that is whole.
    int64_t last = INT64_MIN;
    first = INT64_MAX;
    beginResidue = stride;
    for (int64_t r = 0; r < stride; ++r)
      for (int64_t k = 0; k < kernel; ++k)
        if ((r + pad - k * dilation) % stride == 0) {
          beginResidue = std::min(beginResidue, r);
          endResidue = r + 1;
          int64_t offset = floorDiv(r + pad - k * dilation, stride);
          first = std::min(first, offset);
          last = std::max(last, offset);
        }
    taps = (last - first) / spacing + 1;
    steps = (out + stride - 1) / stride;
    padBegin = -first;
    padEnd = steps - in - padBegin + (taps - 1) * spacing;
  }
  int64_t residues() const { return endResidue - beginResidue; }
  /// The tap of the old kernel behind tap m for residue r; `kernel`, which stands for a zero, when there is none.
  int64_t tapOf(int64_t r, int64_t m) const {
    int64_t distance = r + pad - (first + m * spacing) * stride; // k * dilation
    bool exists = distance >= 0 && distance % dilation == 0 && distance / dilation < kernel;
    return exists ? distance / dilation : kernel;
  }

  int64_t stride, dilation, kernel, pad;
  int64_t spacing; ///< dilation of the new kernel
  int64_t first = 0, taps = 0;
  /// Residues outside read nothing, as with a kernel narrower than the stride.
  int64_t beginResidue, endResidue = 0;
  int64_t steps;            ///< values of q
  int64_t padBegin, padEnd; ///< of the input; negative where its border is not read
};

class Lowering {
public:
  Lowering(nn::ConvTransposeOp op, OpBuilder &builder)
      : op(op), b(builder, op.getLoc()), x(b.typeOf(op.getX())), y(b.typeOf(op.getResult())),
        weight(b.typeOf(op.getWeight())), spatialRank(op.getStrides().size()), groups(op.getGroups()) {}

  /// Failure leaves the op as it is.
  LogicalResult run();

private:
  nn::Dim constant(int64_t value) { return nn::constantDim(b.getContext(), value); }
  Value newInput();
  Value newWeight();
  Value newBias();
  Value sideBySide(Value result);
  void noteOrigin(Value conv);

  nn::ConvTransposeOp op;
  TensorBuilder b;
  RankedTensorType x, y, weight;
  unsigned spatialRank;
  int64_t groups;
  int64_t residues = 1; ///< output positions per q that read something, over all dimensions
  bool isPartial = false; ///< some read nothing
  SmallVector<SpatialDim> dims;
};

} // namespace

/// x without what no window reads; the rest of the padding is the convolution's.
Value Lowering::newInput() {
  SmallVector<int64_t> starts(2, 0), sizes(2, -1), steps(2 + spatialRank, 1);
  bool isCut = false;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t begin = std::max<int64_t>(-dim.padBegin, 0), end = std::max<int64_t>(-dim.padEnd, 0);
    int64_t extent = x.getDimSize(2 + i);
    starts.push_back(begin);
    sizes.push_back(begin + end > 0 ? extent - begin - end : -1);
    isCut |= begin + end > 0;
  }
  return isCut ? b.create<nn::SliceOp>(op.getX(), starts, sizes, steps) : op.getX();
}

/// From [C, O / groups, kernel...] to [groups * residues * O / groups, C / groups, taps...].
Value Lowering::newWeight() {
  Value w = op.getWeight();
  bool isMirrorOnly = llvm::all_of(dims, [](const SpatialDim &dim) { return dim.stride == 1; });
  if (isMirrorOnly && groups == 1) {
    // The mirrored kernel, by movements that strides can say, so that a weight is packed straight from where it lies.
    SmallVector<int64_t> starts(2, 0), steps(2, 1), sizes(2 + spatialRank, -1), order = {1, 0};
    bool isMirrored = false;
    for (unsigned i = 0; i < spatialRank; ++i) {
      bool hasTaps = weight.getDimSize(2 + i) > 1;
      starts.push_back(hasTaps ? -1 : 0);
      steps.push_back(hasTaps ? -1 : 1);
      order.push_back(2 + i);
      isMirrored |= hasTaps;
    }
    return b.transpose(isMirrored ? b.create<nn::SliceOp>(w, starts, sizes, steps) : w, order);
  }
  // A zero behind the last tap, which taps that do not exist refer to.
  SmallVector<int64_t> none(2 + spatialRank, 0), behind(2, 0);
  bool hasZero = false;
  for (const SpatialDim &dim : dims) {
    bool isMissing = false;
    for (int64_t r = dim.beginResidue; r < dim.endResidue; ++r)
      for (int64_t m = 0; m < dim.taps; ++m)
        isMissing |= dim.tapOf(r, m) == dim.kernel;
    behind.push_back(isMissing);
    hasZero |= isMissing;
  }
  if (hasZero)
    w = b.create<nn::PadOp>(w, none, behind, nn::PadMode::Constant, llvm::APFloat(0.0));
  for (auto [i, dim] : llvm::enumerate(dims)) {
    SmallVector<int64_t> order;
    for (int64_t r = dim.beginResidue; r < dim.endResidue; ++r)
      for (int64_t m = 0; m < dim.taps; ++m)
        order.push_back(dim.tapOf(r, m));
    auto type = RankedTensorType::get({static_cast<int64_t>(order.size())}, b.getI64Type());
    Value indices = nn::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<int64_t>(order)));
    w = b.create<nn::GatherOp>(w, indices, b.getI64IntegerAttr(2 + i));
  }
  // [groups, C / groups, O / groups, (residue, taps) for each dimension]
  SmallVector<nn::Dim> split = {constant(groups), constant(weight.getDimSize(0) / groups), constant(weight.getDimSize(1))};
  SmallVector<int64_t> order = {0};
  for (auto [i, dim] : llvm::enumerate(dims)) {
    split.push_back(constant(dim.residues()));
    split.push_back(constant(dim.taps));
    order.push_back(3 + 2 * i);
  }
  order.append({2, 1});
  SmallVector<nn::Dim> joined = {constant(weight.getDimSize(1) * groups * residues), split[1]};
  for (auto [i, dim] : llvm::enumerate(dims)) {
    order.push_back(4 + 2 * i);
    joined.push_back(constant(dim.taps));
  }
  return b.reshape(b.transpose(b.reshape(w, split), order), joined);
}

/// The bias of a channel for each of its residues: [groups, residues, O / groups].
Value Lowering::newBias() {
  if (!op.getBias() || residues == 1)
    return op.getBias();
  int64_t perGroup = weight.getDimSize(1);
  Value split = b.reshape(op.getBias(), {constant(groups), constant(1), constant(perGroup)});
  Value repeated = b.expand(split, *nn::tensorType(std::nullopt, {constant(groups), constant(residues), constant(perGroup)},
                                                   y.getElementType()));
  return b.reshape(repeated, {constant(groups * residues * perGroup)});
}

/// [N, groups * residues * O / groups, steps...] to [N, O, out...].
Value Lowering::sideBySide(Value result) {
  if (residues == 1 && !isPartial)
    return result;
  // With the channels innermost, as they lie in memory, whole rows of channels change places:
  // [N, steps..., groups, residue..., O / groups] to [N, (step, residue) for each dimension, groups, O / groups].
  int64_t rank = spatialRank;
  SmallVector<int64_t> last = {0}, first = {0, 1 + rank}, order = {0}, begin(1 + rank + 1, 0), end(1 + rank + 1, 0);
  SmallVector<nn::Dim> split = {nn::dimOf(y, 0)}, joined = {nn::dimOf(y, 0)};
  for (const SpatialDim &dim : dims)
    split.push_back(constant(dim.steps));
  split.push_back(constant(groups));
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t number = i;
    last.push_back(2 + number);
    first.push_back(1 + number);
    split.push_back(constant(dim.residues()));
    begin.push_back(dim.beginResidue);
    end.push_back(dim.stride - dim.endResidue);
    order.append({1 + number, 2 + rank + number});
    joined.push_back(constant(dim.steps * dim.stride));
  }
  last.push_back(1);
  split.push_back(constant(weight.getDimSize(1)));
  begin.push_back(0);
  end.push_back(0);
  order.append({1 + rank, 2 + 2 * rank});
  joined.push_back(nn::dimOf(y, 1));
  Value parts = b.reshape(b.transpose(result, last), split);
  if (isPartial)
    parts = b.create<nn::PadOp>(parts, begin, end, nn::PadMode::Constant, llvm::APFloat(0.0));
  Value whole = b.transpose(b.reshape(b.transpose(parts, order), joined), first);
  SmallVector<int64_t> starts(2 + spatialRank, 0), sizes(2 + spatialRank, -1), steps(2 + spatialRank, 1);
  bool isLonger = false;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (y.getDimSize(2 + i) != dim.steps * dim.stride) {
      sizes[2 + i] = y.getDimSize(2 + i);
      isLonger = true;
    }
  return isLonger ? b.create<nn::SliceOp>(whole, starts, sizes, steps) : whole;
}

/// Libraries do the transposed convolution as it was; what this one is of cannot be seen in it.
void Lowering::noteOrigin(Value conv) {
  SmallVector<int64_t> kernel, pads;
  bool hasStride = false;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    hasStride |= dim.stride > 1;
    if (dim.residues() != dim.stride || dim.padBegin < 0 || dim.padEnd < 0 || dim.dilation != 1 ||
        y.getDimSize(2 + i) != dim.steps * dim.stride || op.getPadsBegin()[i] != op.getPadsEnd()[i])
      return;
    kernel.push_back(dim.kernel);
    pads.push_back(dim.pad);
  }
  if (!hasStride || op.getBias())
    return;
  auto asAttr = [&](StringRef name, ArrayRef<int64_t> values) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(values)); };
  conv.getDefiningOp()->setAttr(kTransposedAttr, b.getDictionaryAttr({asAttr("kernel", kernel), asAttr("pads", pads),
                                                                      asAttr("strides", op.getStrides())}));
}

/// The elementwise op of one operand that alone reads `value`.
static Operation *activationOf(Value value) {
  if (!value.hasOneUse())
    return nullptr;
  Operation *user = *value.user_begin();
  return isa<nn::ElementwiseOpInterface>(user) && user->getNumOperands() == 1 ? user : nullptr;
}

LogicalResult Lowering::run() {
  for (unsigned i = 0; i < spatialRank; ++i) {
    if (x.isDynamicDim(2 + i))
      return failure();
    dims.emplace_back(op, i, weight.getDimSize(2 + i), x.getDimSize(2 + i), y.getDimSize(2 + i));
    SpatialDim &dim = dims.back();
    // A bias stands everywhere.
    if (op.getBias()) {
      dim.beginResidue = 0;
      dim.endResidue = dim.stride;
    }
    residues *= dim.residues();
    isPartial |= dim.residues() != dim.stride;
    // With both, most of the new kernel would be zeros.
    if (dim.stride > 1 && dim.dilation > 1)
      return failure();
    int64_t cut = std::max<int64_t>(-dim.padBegin, 0) + std::max<int64_t>(-dim.padEnd, 0);
    if (cut >= x.getDimSize(2 + i))
      return failure();
  }
  SmallVector<int64_t> strides(spatialRank, 1), dilations, padsBegin, padsEnd;
  for (const SpatialDim &dim : dims) {
    dilations.push_back(dim.spacing);
    padsBegin.push_back(std::max<int64_t>(dim.padBegin, 0));
    padsEnd.push_back(std::max<int64_t>(dim.padEnd, 0));
  }
  Value result = b.create<nn::ConvOp>(newInput(), newWeight(), newBias(), strides, dilations, padsBegin, padsEnd, groups);
  noteOrigin(result);
  // What an activation does to each element it does before the elements are moved as well, and then in the convolution's kernel.
  Value end = op.getResult();
  SmallVector<Operation *> replaced = {op};
  while (Operation *activation = isPartial ? nullptr : activationOf(end)) {
    replaced.push_back(activation);
    IRMapping operands;
    operands.map(end, result);
    Operation *moved = b.clone(*activation, operands);
    moved->getResult(0).setType(b.typeOf(result).clone(b.typeOf(activation->getResult(0)).getElementType()));
    result = moved->getResult(0);
    end = activation->getResult(0);
  }
  end.replaceAllUsesWith(sideBySide(result));
  for (Operation *dead : llvm::reverse(replaced))
    dead->erase();
  return success();
}

namespace {

struct LowerConvTransposePass : passes::impl::LowerConvTransposeBase<LowerConvTransposePass> {
  void runOnOperation() override {
    SmallVector<nn::ConvTransposeOp> all;
    getOperation().walk([&](nn::ConvTransposeOp op) { all.push_back(op); });
    for (nn::ConvTransposeOp op : all) {
      OpBuilder builder(op);
      (void)Lowering(op, builder).run();
    }
  }
};

} // namespace
