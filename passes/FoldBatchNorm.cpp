// Removes batch normalisation from the run. With given statistics it is y = x * factor + shift per channel, factor = scale /
// sqrt(variance + epsilon), shift = bias - mean * factor. Behind a convolution or a matrix product whose weight is a parameter
// both go into weight and bias; elsewhere a multiplication and an addition remain, which fuse. Runs before layouts are assigned:
// what it computes from parameters, OutlinePrepare takes out of the run.

#include "passes/ParameterValues.h"
#include "passes/Passes.h"

namespace nncc::passes {
#define GEN_PASS_DEF_FOLDBATCHNORM
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

/// Small tensors along the channels, at least f32: with f16 the variance plus epsilon would lose its last digits.
class ChannelMath {
public:
  ChannelMath(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value widen(Value x) { return cast(x, widened(elementOf(x))); }
  Value cast(Value x, Type element) {
    if (elementOf(x) == element)
      return x;
    return nn::CastOp::create(builder, loc, typeLike(x, element), x, TypeAttr::get(element));
  }
  Value constant(Value like, double value) {
    auto type = RankedTensorType::get({1}, elementOf(like));
    return nn::ConstantOp::create(builder, loc,
                                  DenseElementsAttr::get(type, builder.getFloatAttr(elementOf(like), value)));
  }
  /// `x` [C] with its extent at dimension `dim` of `rank` dimensions.
  Value alongDim(Value x, unsigned dim, unsigned rank) {
    auto type = llvm::cast<RankedTensorType>(x.getType());
    if (dim + 1 == rank)
      return x;
    // Leading ones are implied by broadcasting.
    SmallVector<int64_t> shape(rank - dim, 1);
    shape[0] = type.getDimSize(0);
    return nn::ReshapeOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()), x);
  }
  template <typename Op> Value binary(Value a, Value b) { return Op::create(builder, loc, a, b); }
  Value rsqrt(Value x) { return nn::RsqrtOp::create(builder, loc, x); }

private:
  static Type elementOf(Value x) { return llvm::cast<RankedTensorType>(x.getType()).getElementType(); }
  static Type widened(Type element) {
    return element.getIntOrFloatBitWidth() < 32 ? Type(Float32Type::get(element.getContext())) : element;
  }
  static Type typeLike(Value x, Type element) {
    return llvm::cast<RankedTensorType>(x.getType()).clone(element);
  }

  OpBuilder &builder;
  Location loc;
};

/// Factor and shift per channel, as wide as ChannelMath computes.
struct Affine {
  Value factor, shift;
};

Affine affineOf(nn::BatchNormOp norm, ChannelMath &math) {
  Value variance = math.widen(norm.getVariance());
  Value spread = math.rsqrt(math.binary<nn::AddOp>(
      variance, math.constant(variance, norm.getEpsilon().convertToDouble())));
  Value factor = math.binary<nn::MulOp>(math.widen(norm.getScale()), spread);
  Value shift = math.binary<nn::SubOp>(math.widen(norm.getBias()),
                                       math.binary<nn::MulOp>(math.widen(norm.getMean()), factor));
  return {factor, shift};
}

/// The weight operand of a contraction whose output channels are dimension 1, and the weight's dimension that holds them.
struct Weight {
  OpOperand *operand = nullptr;
  unsigned outputDim = 0;
};

std::optional<Weight> weightOf(Operation *op) {
  if (auto conv = dyn_cast_if_present<nn::ConvOp>(op))
    return Weight{&conv.getWeightMutable(), 0};
  // With groups an output channel is no dimension of a transposed weight.
  if (auto conv = dyn_cast_if_present<nn::ConvTransposeOp>(op))
    return conv.getGroups() == 1 ? std::optional(Weight{&conv.getWeightMutable(), 1}) : std::nullopt;
  auto matmul = dyn_cast_if_present<nn::MatmulOp>(op);
  if (!matmul)
    return std::nullopt;
  auto rank = [](Value value) { return cast<RankedTensorType>(value.getType()).getRank(); };
  if (rank(matmul.getResult()) != 2 || rank(matmul.getRhs()) != 2)
    return std::nullopt;
  return Weight{&matmul.getRhsMutable(), matmul.getTransposeRhs() ? 0u : 1u};
}

/// (w * factor) x + (b * factor + shift), in the place of norm(w x + b).
bool foldIntoContraction(nn::BatchNormOp norm, ParameterValues &parameterValues) {
  Operation *op = norm.getX().getDefiningOp();
  std::optional<Weight> weight = weightOf(op);
  if (!weight || !norm.getX().hasOneUse() || !parameterValues.contains(weight->operand->get()))
    return false;
  for (Value operand : norm->getOperands().drop_front())
    if (!parameterValues.contains(operand))
      return false;

  OpBuilder builder(norm);
  ChannelMath math(builder, norm.getLoc());
  Affine affine = affineOf(norm, math);
  Value original = weight->operand->get();
  auto weightType = cast<RankedTensorType>(original.getType());
  Value scaled = math.binary<nn::MulOp>(
      math.widen(original), math.alongDim(affine.factor, weight->outputDim, weightType.getRank()));
  auto foldInto = [&](auto contraction) {
    Value shift = affine.shift;
    if (Value bias = contraction.getBias())
      shift = math.binary<nn::AddOp>(math.binary<nn::MulOp>(math.widen(bias), affine.factor), shift);
    shift = math.cast(shift, weightType.getElementType());
    contraction.getBiasMutable().assign(shift);
  };
  weight->operand->set(math.cast(scaled, weightType.getElementType()));
  if (auto conv = dyn_cast<nn::ConvOp>(op))
    foldInto(conv);
  else if (auto conv = dyn_cast<nn::ConvTransposeOp>(op))
    foldInto(conv);
  else
    foldInto(cast<nn::MatmulOp>(op));
  // The contraction moves behind what its new operands are computed from.
  op->moveBefore(norm);
  norm.getResult().replaceAllUsesWith(norm.getX());
  return true;
}

void lowerToAffine(nn::BatchNormOp norm) {
  OpBuilder builder(norm);
  ChannelMath math(builder, norm.getLoc());
  Affine affine = affineOf(norm, math);
  auto type = cast<RankedTensorType>(norm.getX().getType());
  auto perChannel = [&](Value value) {
    return math.alongDim(math.cast(value, type.getElementType()), 1, type.getRank());
  };
  Value product = math.binary<nn::MulOp>(norm.getX(), perChannel(affine.factor));
  norm.getResult().replaceAllUsesWith(math.binary<nn::AddOp>(product, perChannel(affine.shift)));
}

struct FoldBatchNormPass : passes::impl::FoldBatchNormBase<FoldBatchNormPass> {
  void runOnOperation() override {
    SmallVector<nn::BatchNormOp> norms;
    getOperation().walk([&](nn::BatchNormOp norm) { norms.push_back(norm); });
    ParameterValues parameterValues;
    for (nn::BatchNormOp norm : norms) {
      if (!foldIntoContraction(norm, parameterValues))
        lowerToAffine(norm);
      norm->dropAllReferences();
    }
    // Erased last: parameterValues knows ops by their address.
    for (nn::BatchNormOp norm : norms)
      norm.erase();
  }
};

} // namespace
