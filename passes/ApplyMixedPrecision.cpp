// Lets @train_step compute in bf16 or f16 where the train section asks for it (`precision`). Takes what BuildTrainStep left and stands
// before ApplyTrainingMode and ExpandGradients: statistics of batches are then taken from what the norms read, and gradients come in
// the precision of the values that they belong to, and back to f32 where a value was narrowed. Parameters stay f32: what is narrowed is
// their copy of the step. @evaluate stays as it is and measures what inference computes.

#include "passes/Passes.h"

#include "ir/TensorBuilder.h"

namespace nncc::passes {
#define GEN_PASS_DEF_APPLYMIXEDPRECISION
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;

namespace {

enum class Policy : uint8_t {
  Narrow,     ///< operands and results are narrow; kernels accumulate in f32
  Wide,       ///< operands and results are f32
  WideInside, ///< operands are f32, the result is as narrow as the first of them was
  Follow,     ///< as wide as the widest operand, but for constants of one number, which adapt
};

/// The table: which op computes in which precision. PyTorch's autocast, but for norms, whose result is narrow where their input was, and
/// for square and mean, which are wide as sums are.
Policy policyOf(Operation *op) {
  if (isa<nn::MatmulOp, nn::ConvOp, nn::ConvTransposeOp, nn::AttentionOp, nn::RnnOp, nn::LstmOp, nn::GruOp>(op))
    return Policy::Narrow;
  if (isa<nn::BatchNormOp, nn::LayerNormOp, nn::RmsNormOp, nn::GroupNormOp, nn::InstanceNormOp>(op))
    return Policy::WideInside;
  if (isa<nn::SoftmaxOp, nn::LogSoftmaxOp, nn::ReduceSumOp, nn::ReduceMeanOp, nn::ReduceProdOp, nn::SquareOp, nn::PowOp, nn::ExpOp,
          nn::Expm1Op, nn::LogOp, nn::Log1pOp, nn::TanOp, nn::ReciprocalOp, nn::RsqrtOp, nn::SoftplusOp>(op))
    return Policy::Wide;
  return Policy::Follow;
}

class Narrowing {
public:
  Narrowing(func::FuncOp step, FloatType narrow) : step(step), narrow(narrow), wide(Float32Type::get(step.getContext())) {}
  void run();

private:
  Type elementOf(Value value) const { return TensorBuilder::typeOf(value).getElementType(); }
  bool isNarrowed(Value value) const { return narrowed.contains(value); }
  bool isOneNumber(Value value) const {
    return value.getDefiningOp<nn::ConstantOp>() && TensorBuilder::typeOf(value).getNumElements() == 1;
  }

  void apply(Operation *op);
  void restore(Operation *op);
  /// True where every floating-point operand is f32, or was before this pass: others are the model's own choice.
  bool isEligible(Operation *op) const;
  Type elementFor(Operation *op, Policy policy) const;
  Value cast(Value value, Type element);
  void setResultTypes(Operation *op);

  func::FuncOp step;
  Type narrow, wide;
  DenseSet<Value> narrowed;                     ///< values that were f32 and are narrow now
  DenseMap<std::pair<Value, Type>, Value> casts; ///< one for all readers of a value
};

} // namespace

Value Narrowing::cast(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  Value &result = casts[{value, element}];
  if (!result) {
    OpBuilder builder(step.getContext());
    builder.setInsertionPointAfterValue(value);
    result = nn::CastOp::create(builder, value.getLoc(), value, TypeAttr::get(element));
    if (element == narrow)
      narrowed.insert(result);
  }
  return result;
}

bool Narrowing::isEligible(Operation *op) const {
  bool hasFloats = false;
  for (Value operand : op->getOperands()) {
    if (!isa<FloatType>(elementOf(operand)))
      continue;
    hasFloats = true;
    if (elementOf(operand) != wide && !isNarrowed(operand))
      return false;
  }
  return hasFloats;
}

Type Narrowing::elementFor(Operation *op, Policy policy) const {
  if (policy == Policy::Narrow)
    return narrow;
  if (policy != Policy::Follow)
    return wide;
  bool anyNarrow = false;
  for (Value operand : op->getOperands()) {
    anyNarrow |= isNarrowed(operand);
    if (elementOf(operand) == wide && !isOneNumber(operand))
      return wide;
  }
  return anyNarrow ? narrow : wide;
}

void Narrowing::setResultTypes(Operation *op) {
  SmallVector<Type> types;
  auto inferred = dyn_cast<InferTypeOpInterface>(op);
  if (inferred) {
    LogicalResult done = inferred.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(), op->getDiscardableAttrDictionary(),
                                                   op->getPropertiesStorage(), op->getRegions(), types);
    assert(succeeded(done) && "the same shapes as before");
    (void)done;
  } else { // movements to a shape that is given
    for (Value result : op->getResults())
      types.push_back(TensorBuilder::typeOf(result).clone(elementOf(op->getOperand(0))));
  }
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types)) {
    bool wasWide = elementOf(result) == wide;
    result.setType(type);
    if (wasWide && elementOf(result) == narrow)
      narrowed.insert(result);
  }
}

void Narrowing::apply(Operation *op) {
  if (!isEligible(op))
    return;
  // A conversion says itself what it gives.
  if (isa<nn::CastOp>(op))
    return;
  Policy policy = policyOf(op);
  bool wasNarrow = isNarrowed(op->getOperand(0));
  Type element = elementFor(op, policy);
  for (OpOperand &operand : op->getOpOperands())
    if (isa<FloatType>(elementOf(operand.get())))
      operand.set(cast(operand.get(), element));
  setResultTypes(op);
  if (policy != Policy::WideInside || !wasNarrow)
    return;
  Value result = op->getResult(0), outside = cast(result, narrow);
  result.replaceAllUsesExcept(outside, outside.getDefiningOp());
}

/// The loss, metrics and states have the types that they had.
void Narrowing::restore(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isNarrowed(operand.get()))
      operand.set(cast(operand.get(), wide));
}

void Narrowing::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : step.getBody().front()) {
    // What stands behind is the update.
    if (isa<nn::GradientOp>(op))
      break;
    ops.push_back(&op);
  }
  for (Operation *op : ops)
    apply(op);
  for (Operation &op : step.getBody().front())
    if (isa<nn::GradientOp, func::ReturnOp>(op))
      restore(&op);
}

namespace {

struct ApplyMixedPrecisionPass : passes::impl::ApplyMixedPrecisionBase<ApplyMixedPrecisionPass> {
  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kTrainStepFunction);
    auto train = getOperation()->getAttrOfType<DictionaryAttr>(nn::NNDialect::kTrainAttr);
    auto precision = train ? train.getAs<TypeAttr>("precision") : TypeAttr();
    if (!step || !precision || precision.getValue().isF32())
      return;
    auto narrow = dyn_cast<FloatType>(precision.getValue());
    if (!narrow || narrow.getWidth() != 16) {
      step.emitError() << "precision: expected f32, bf16 or f16, found " << precision.getValue();
      return signalPassFailure();
    }
    Narrowing(step, narrow).run();
  }
};

} // namespace
